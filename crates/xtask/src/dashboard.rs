//! Draws monitoring/dashboard.json from the answers of a Prometheus, much as Grafana does.

use std::{collections::BTreeMap, fs, ops::Range, path::Path};

use anyhow::{Context as _, Result};
use plotters::{coord::Shift, prelude::*};
use serde_json::Value;

use crate::run;

/// The size of a cell of the dashboard's grid in pixels, the space around a panel, and the columns of the grid.
const CELL: (u32, u32) = (48, 30);
const MARGIN: u32 = 6;
const COLUMNS: u32 = 24;

/// The colour of numbers.
const NUMBER: RGBColor = RGBColor(26, 127, 55);

/// The font of all texts.
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of a panel: its name, and a value for each time.
type Series = (String, BTreeMap<i64, f64>);

/// Asks for each expression of each panel, and draws the answers. `ask` has Prometheus's answer for a range of
/// time.
pub fn draw(file: &Path, ask: impl Fn(&str) -> Result<Value>) -> Result<()> {
    let dashboard = fs::read(run::workspace().join("monitoring/dashboard.json"))?;
    let dashboard: Value = serde_json::from_slice(&dashboard)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let places = panels.iter().map(place).collect::<Result<Vec<_>>>()?;
    let height = places.iter().map(|[_, y, _, height]| y + height).max().unwrap_or(0);
    let root = SVGBackend::new(file, (COLUMNS * CELL.0, height * CELL.1)).into_drawing_area();
    root.fill(&WHITE)?;
    for (panel, [x, y, width, height]) in panels.iter().zip(places) {
        let size = (width * CELL.0 - MARGIN, height * CELL.1 - MARGIN);
        let area = root.clone().shrink((x * CELL.0, y * CELL.1), size);
        let targets = panel["targets"].as_array().context("a panel without targets")?;
        let series = targets.iter().map(|target| series(target, &ask)).collect::<Result<Vec<_>>>()?;
        let title = panel["title"].as_str().context("a panel without a title")?;
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default();
        let corner = (i32::try_from(size.0)?, i32::try_from(size.1)?);
        area.draw(&Rectangle::new([(0, 0), corner], BLACK.mix(0.2)))?;
        area.draw(&Text::new(title, (8, 6), (FONT, 14).into_font()))?;
        match panel["type"] == "stat" {
            true => number(&area, &series.concat(), unit)?,
            false => {
                let stacks = panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal";
                lines(&area, series.concat(), unit, stacks)?;
            }
        }
    }
    root.present()?;
    Ok(())
}

/// The place of a panel in cells: column, row, width and height.
fn place(panel: &Value) -> Result<[u32; 4]> {
    let number = |key| u32::try_from(panel["gridPos"][key].as_u64()?).ok();
    let [x, y, width, height] = ["x", "y", "w", "h"].map(number);
    let place = x.zip(y).zip(width.zip(height));
    let ((x, y), (width, height)) = place.with_context(|| format!("no place: {panel}"))?;
    Ok([x, y, width, height])
}

/// The lines of an expression.
fn series(target: &Value, ask: impl Fn(&str) -> Result<Value>) -> Result<Vec<Series>> {
    let text = |key| target[key].as_str().with_context(|| format!("no {key}: {target}"));
    let expression = text("expr")?.replace("$model", ".*").replace("$__rate_interval", "15s");
    let answer = ask(&expression)?;
    let found = answer.as_array().with_context(|| format!("{expression}: {answer}"))?;
    let legend = text("legendFormat")?;
    let one = |found: &Value| {
        let labels = found["metric"].as_object().into_iter().flatten();
        let name = labels.fold(legend.to_owned(), |name, (label, value)| {
            name.replace(&format!("{{{{{label}}}}}"), value.as_str().unwrap_or_default())
        });
        let sample = |sample: &Value| {
            let value: f64 = sample[1].as_str()?.parse().ok()?;
            value.is_finite().then_some((sample[0].as_i64()?, value))
        };
        (name, found["values"].as_array().into_iter().flatten().filter_map(sample).collect())
    };
    Ok(found.iter().map(one).filter(|(_, values): &Series| !values.is_empty()).collect())
}

/// Draws the last value in large digits.
fn number(area: &Area<'_>, series: &[Series], unit: &str) -> Result<()> {
    let last = series.first().and_then(|(_, values)| values.values().next_back());
    let text = last.map_or_else(|| "No data".to_owned(), |value| shown(*value, unit));
    area.draw(&Text::new(text, (12, 44), (FONT, 40).into_font().color(&NUMBER)))?;
    Ok(())
}

/// Draws lines over time, on top of each other if they stack. Those that are always zero are left out: a panel
/// has one for each use or state.
fn lines(area: &Area<'_>, mut series: Vec<Series>, unit: &str, stacks: bool) -> Result<()> {
    series.retain(|(_, values)| values.values().any(|value| *value != 0.0));
    if stacks {
        stack(&mut series);
    }
    let times = series.iter().flat_map(|(_, values)| values.keys().copied());
    let Range { start, end } = times.clone().min().unwrap_or(0)..times.max().unwrap_or(1);
    let most = series.iter().flat_map(|(_, values)| values.values().copied()).fold(0.0, f64::max);
    // The legend has room above the lines.
    let room = series.iter().fold(1.1, |room, _| room + 0.12);
    let most = if most > 0.0 { most * room } else { room };
    let mut chart = ChartBuilder::on(area)
        .margin_top(28)
        .margin_right(16)
        .margin_bottom(4)
        .set_label_area_size(LabelAreaPosition::Left, 56)
        .set_label_area_size(LabelAreaPosition::Bottom, 22)
        .build_cartesian_2d(0..(end - start).max(1), 0.0..most)?;
    let axis = |value: &f64| shown(*value, unit);
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().light_line_style(TRANSPARENT).x_labels(6).y_labels(5).label_style((FONT, 12));
    mesh.x_label_formatter(&|seconds| format!("{seconds} s")).y_label_formatter(&axis);
    mesh.draw()?;
    // The highest of a stack is drawn first, so that each one covers those above it only where it is.
    for (number, (name, values)) in series.iter().enumerate().rev() {
        let colour = Palette99::pick(number).to_rgba();
        let points = values.iter().map(|(time, value)| (time - start, *value));
        let fill = if stacks { colour.mix(0.4) } else { TRANSPARENT };
        if stacks {
            chart.draw_series(AreaSeries::new(points.clone(), 0.0, WHITE))?;
        }
        chart
            .draw_series(AreaSeries::new(points, 0.0, fill).border_style(colour))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 3), (x + 12, y + 3)], colour.filled()));
    }
    let mut legend = chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperLeft).label_font((FONT, 12)).legend_area_size(16);
    legend.background_style(WHITE.mix(0.7)).draw()?;
    Ok(())
}

/// Adds to the values of each line those of the lines before it.
fn stack(series: &mut [Series]) {
    let mut sums = BTreeMap::<i64, f64>::new();
    for (time, value) in series.iter_mut().flat_map(|(_, values)| values) {
        let sum = sums.entry(*time).or_default();
        *sum += *value;
        *value = *sum;
    }
}

/// A value in its unit.
fn shown(value: f64, unit: &str) -> String {
    let digits = |value: f64| format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned();
    match unit {
        "percentunit" => format!("{:.0} %", value * 100.0),
        "s" if value > 0.0 && value < 0.1 => format!("{} ms", digits(value * 1000.0)),
        "s" => format!("{} s", digits(value)),
        _ => digits(value),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;
    use serde_json::json;

    use super::*;

    #[test]
    fn cli_dashboard_is_drawn_with_its_panels_and_legends() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("dashboard.svg");
        draw(&file, |expression| {
            ensure!(!expression.contains('$'), "a variable is left: {expression}");
            let values: Vec<_> = (0..60).map(|time| json!([1_800_000_000 + time, "4.25"])).collect();
            let empty = json!({"metric": {}, "values": [[1_800_000_000, "NaN"]]});
            Ok(json!([{"metric": {"use": "kept", "model": "pod64"}, "values": values}, empty]))
        })?;
        let svg = fs::read_to_string(&file)?;
        for text in
            ["Free IPUs", "IPUs in use", "425 %", "4.25 s", "Journal and ledger", "kept", "pod64: jobs"]
        {
            ensure!(svg.lines().any(|line| line.trim() == text), "no text {text}: {svg}");
        }
        Ok(())
    }
}
