//! The table of docs/bench.md.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{Estimate, Row, Target, row::Scale, sides::Side};

const BEGIN: &str = "<!-- begin of the table that `cargo xtask bench` writes -->";
const END: &str = "<!-- end of the table -->";

const HEAD: &str = "| row | what | stock | ours | ratio | 95 % interval | pairs | target | verdict |\n\
                    |---|---|---:|---:|---:|---|---:|---|---|\n";

/// The table of these rows.
pub fn lines(rows: &[Row]) -> String {
    HEAD.to_owned() + &rows.iter().map(line).collect::<String>()
}

fn line(row: &Row) -> String {
    let Row { name, what, unit, scale, target, .. } = row;
    let Estimate { mean, interval } = row.estimate();
    let (stock, ours) = (value(row.mean(Side::Stock)), value(row.mean(Side::Ours)));
    let sign = if *scale == Scale::Difference { "+" } else { "" };
    let target = match (scale, target) {
        (Scale::Difference, Target::AtMost(most)) => format!("≤ +{most:.2} {unit}"),
        _ => target.to_string(),
    };
    let (pairs, verdict) = (row.pairs(), row.verdict());
    let compared = match scale {
        Scale::Ratio => format!("{mean:.3} | {}", shown(interval, 3)),
        Scale::Difference => format!("{sign}{mean:.2} {unit} | {}", shown(interval, 2)),
    };
    format!(
        "| `{name}` | {what} | {stock} {unit} | {ours} {unit} | {compared} | {pairs} | {target} | {verdict} |\n"
    )
}

fn shown(interval: Option<(f64, f64)>, digits: usize) -> String {
    interval.map_or_else(|| "none".into(), |(low, high)| format!("{low:.digits$} to {high:.digits$}"))
}

/// Three significant digits are as many as a measurement has.
fn value(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Replaces the lines of these rows in the table of the page at `path`, and keeps the others.
pub fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text =
        replaced(&text, rows).with_context(|| format!("{} has no table of `bench`", path.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(page: &str, rows: &[Row]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (table, after) = rest.split_once(END)?;
    let mut kept: Vec<_> =
        table.lines().filter(|line| line.starts_with("| `")).map(|line| format!("{line}\n")).collect();
    for row in rows {
        let key = format!("| `{}` |", row.name);
        match kept.iter_mut().find(|line| line.starts_with(&key)) {
            Some(old) => *old = line(row),
            None => kept.push(line(row)),
        }
    }
    Some(format!("{before}{BEGIN}\n\n{HEAD}{}\n{END}{after}", kept.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sides::Pair;

    fn row(name: &'static str, ours: f64) -> Row {
        let pairs = vec![Pair { ours, stock: 100.0 }; 3];
        Row { name, what: "time", unit: "ms", scale: Scale::Ratio, target: Target::AtMost(1.1), pairs }
    }

    #[test]
    fn a_line_has_all_columns() {
        let line = line(&row("batch", 123.0));
        assert_eq!(
            line,
            "| `batch` | time | 100 ms | 123 ms | 1.230 | 1.230 to 1.230 | 3 | ≤ 1.10 | **missed** |\n"
        );
    }

    #[test]
    fn rows_replace_their_lines_and_keep_the_others() {
        let page = format!("a\n{BEGIN}\n{END}\nb\n");
        let first = replaced(&page, &[row("batch", 123.0), row("burst", 50.0)]).unwrap();
        let second = replaced(&first, &[row("batch", 105.0)]).unwrap();
        assert!(second.starts_with("a\n") && second.ends_with("\nb\n"), "{second}");
        assert!(
            second.contains("| 105 ms |") && second.contains("| 50.0 ms |") && !second.contains("| 123 ms |")
        );
        assert_eq!(second.lines().filter(|line| line.starts_with("| `")).count(), 2);
        assert!(replaced("no table", &[]).is_none());
    }
}
