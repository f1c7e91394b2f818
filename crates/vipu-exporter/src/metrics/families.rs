//! Writes families of metrics.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use vipu_status::Histogram;

use crate::numbers::between_bounds;

/// The labels of a series.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Writes families of metrics. A family is written at once, because OpenMetrics wants its series together.
pub(crate) struct Families<'a>(pub(crate) DescriptorEncoder<'a>);

impl Families<'_> {
    pub(crate) fn gauge<Value: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        series: impl IntoIterator<Item = (Labels, Value)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in series {
            labelled(&mut family, &labels, |metric| metric.encode_gauge(&value))?;
        }
        Ok(())
    }

    /// The name is without `_total`, which the format adds.
    pub(crate) fn counter(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            labelled(&mut family, &labels, |metric| {
                metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
            })?;
        }
        Ok(())
    }

    /// Histograms of seconds.
    pub(crate) fn histogram<'a>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels, &'a Histogram)>,
    ) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Histogram)?;
        for (labels, values) in series {
            let between = between_bounds(values);
            let count = between.iter().map(|(_, count)| count).sum();
            labelled(&mut family, &labels, |metric| {
                metric.encode_histogram::<NoLabelSet>(values.sum, count, &between, None)
            })?;
        }
        Ok(())
    }
}

/// Writes one series.
fn labelled(
    family: &mut MetricEncoder<'_>,
    labels: &Labels,
    write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    match labels.is_empty() {
        true => write(family),
        false => write(&mut family.encode_family(labels)?),
    }
}
