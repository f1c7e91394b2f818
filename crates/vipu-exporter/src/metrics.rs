//! `GET /metrics`: the numbers in the text format of OpenMetrics, or in the older one of Prometheus.

use std::collections::BTreeSet;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use vipu_status::Histogram;

use crate::numbers::{ControllerNumbers, ModelNumbers, Numbers, between_bounds};

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    /// The older format of Prometheus, which promtool checks.
    Plain,
}

impl Format {
    /// The format for a client that accepts these media types.
    pub(crate) fn of(accepted: &str) -> Self {
        if accepted.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Plain }
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The text. Without a document it says that there is none.
pub(crate) fn text(numbers: Option<Numbers>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(numbers)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(if format == Format::Plain { plain(&text) } else { text })
}

/// The older format: counters have `_total` in their heads, too, and there are neither units nor an end.
fn plain(text: &str) -> String {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: BTreeSet<&str> = types.collect();
    let mut plain = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        match [words.next(), words.next(), words.next(), words.next()] {
            [Some("#"), Some(head), Some(name), Some(rest)] if counters.contains(name) => {
                plain += &format!("# {head} {name}_total {rest}\n");
            }
            _ => plain += &format!("{line}\n"),
        }
    }
    plain
}

/// The numbers of one request.
#[derive(Debug)]
struct Scrape(Option<Numbers>);

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        families.gauge("vipu_exporter_build_info", "The exporter.", None, [(version, 1_u64)])?;
        let readable = u64::from(self.0.is_some());
        let help = "Whether the status document was read (1) or not (0).";
        families.gauge("vipu_status_readable", help, None, [(vec![], readable)])?;
        let Some(numbers) = &self.0 else { return Ok(()) };
        document(&mut families, numbers)?;
        models(&mut families, numbers)?;
        partitions(&mut families, numbers)?;
        controllers(&mut families, numbers)?;
        calls(&mut families, numbers)?;
        plugin(&mut families, numbers)
    }
}

fn document(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let writer = &numbers.writer;
    let build = vec![
        ("version", writer.version.clone()),
        ("slurm", writer.slurm.clone()),
        ("cluster", writer.cluster.clone()),
    ];
    to.gauge("vipu_build_info", "The plugin in slurmctld.", None, [(build, 1_u64)])?;
    let help = "The time since slurmctld wrote the status document.";
    to.gauge("vipu_status_age", help, Some(&Unit::Seconds), [(vec![], numbers.age)])?;
    let help = "The Unix time at which the plugin was started.";
    to.gauge("vipu_start_time", help, Some(&Unit::Seconds), [(vec![], writer.started)])
}

fn models(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let mut each = |name: &str, help: &str, value: fn(&ModelNumbers) -> u64| {
        let series = numbers.models.iter().map(|(model, it)| (of_model(model), value(it)));
        to.gauge(name, help, None, series)
    };
    each("vipu_largest_partition_ipus", "The largest partition that fits now.", |it| it.largest_now.into())?;
    each("vipu_model_trouble", "Whether no job can start on the model.", |it| it.trouble.into())?;
    each("vipu_model_conf_error", "Whether the file of the model has an error.", |it| it.conf_error.into())?;
    each("vipu_drains", "The drains that administrators have set.", |it| it.drains as u64)?;
    each("vipu_waiting_jobs", "The jobs that wait for IPUs.", |it| it.waiting.jobs)?;
    each("vipu_waiting_ipus", "The IPUs that waiting jobs want.", |it| it.waiting.ipus)?;
    let help = "The waiting jobs that could start by the forecast, and that Slurm has not started yet.";
    each("vipu_waiting_jobs_due", help, |it| it.waiting.due)?;
    let keep_limits = numbers.models.iter().map(|(model, it)| (of_model(model), it.keep_limit));
    let help = "The longest time for which the partition of a failed job is kept.";
    to.gauge("vipu_keep_limit", help, Some(&Unit::Seconds), keep_limits)
}

fn partitions(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let states = || {
        let of_model = |(model, it): (&String, _)| (of_model(model), it);
        let models = numbers.models.iter().map(of_model);
        models.flat_map(|(labels, it): (_, &ModelNumbers)| {
            it.partitions.iter().map(move |(state, it)| (with(&labels, "state", state), it))
        })
    };
    let counts = states().map(|(labels, it)| (labels, it.count));
    to.gauge("vipu_partitions", "The partitions of jobs by state.", None, counts)?;
    let oldest = states().map(|(labels, it)| (labels, it.oldest));
    let help = "The longest time that a partition has been in its state. 0 if there is none.";
    to.gauge("vipu_partition_oldest", help, Some(&Unit::Seconds), oldest)
}

fn controllers(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let ipus = each_controller(numbers).flat_map(|(labels, it)| {
        it.ipus.iter().map(move |(name, count)| (with(&labels, "use", name), *count))
    });
    to.gauge("vipu_ipus", "The IPUs by use. The uses add up to all IPUs.", None, ipus)?;
    let pools = each_controller(numbers).flat_map(|(labels, it)| {
        it.pool.iter().map(move |(state, count)| (with(&labels, "state", state), *count))
    });
    to.gauge("vipu_pool_partitions", "The partitions of the pool by state.", None, pools)?;
    let up = each_controller(numbers).map(|(labels, it)| (labels, u64::from(it.up)));
    to.gauge("vipu_controller_up", "Whether the controller answers.", None, up)?;
    let usual = each_controller(numbers).filter_map(|(labels, it)| Some((labels, it.usual_create?)));
    let help = "The usual time from a create to a ready partition.";
    to.gauge("vipu_usual_create", help, Some(&Unit::Seconds), usual)
}

fn calls(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let mut each = |name: &str, help: &str, value: fn(&ControllerNumbers) -> u64| {
        to.counter(name, help, each_controller(numbers).map(|(labels, it)| (labels, value(it))))
    };
    let help = "The calls that ask for a partition, repetitions included.";
    each("vipu_creates", help, |it| it.counters.creates)?;
    let help = "The calls that ask for the removal of a partition, repetitions included.";
    each("vipu_removes", help, |it| it.counters.removes)?;
    let help = "The calls that reset a partition, repetitions included.";
    each("vipu_resets", help, |it| it.counters.resets)?;
    each("vipu_reuses", "The jobs that got an idle partition.", |it| it.counters.reuses)?;
    let help = "The listings of partitions that were compared with the ledger.";
    each("vipu_reconciliations", help, |it| it.counters.reconciliations)?;
    let failures = each_controller(numbers).flat_map(|(labels, it)| {
        it.counters.failures.iter().map(move |(cause, count)| (with(&labels, "cause", cause), *count))
    });
    to.counter("vipu_failures", "The calls that failed, by cause.", failures)
}

fn plugin(to: &mut Families<'_>, numbers: &Numbers) -> fmt::Result {
    let counters = &numbers.counters;
    to.counter("vipu_events", "The events that the ledger has taken.", [(vec![], counters.events)])?;
    let entries = [(vec![], counters.journal.entries)];
    to.counter("vipu_journal_entries", "The entries of the journal that are on disk.", entries)?;
    let help = "The age of the oldest entry of the journal that is not on disk yet.";
    to.gauge("vipu_journal_lag", help, Some(&Unit::Seconds), [(vec![], counters.journal.lag)])?;
    let states = counters.seconds_in_state.iter();
    let states = states.map(|(state, times)| (vec![("state", state.name().to_owned())], times));
    to.histogram("vipu_partition_state", "The time that partitions spent in a state.", states)?;
    let help = "The time that Slurm waited for the plugin's answer whether a job may start.";
    to.histogram("vipu_job_test", help, [(vec![], &counters.job_tests)])?;
    let help = "The time for which a portion of the status document kept the ledger locked.";
    to.histogram("vipu_ledger_held", help, [(vec![], &counters.ledger_held)])
}

fn each_controller(numbers: &Numbers) -> impl Iterator<Item = (Labels, &ControllerNumbers)> {
    numbers.models.iter().flat_map(|(model, it)| {
        it.controllers.iter().map(move |(name, it)| (with(&of_model(model), "controller", name), it))
    })
}

fn of_model(model: &str) -> Labels {
    vec![("model", model.to_owned())]
}

/// The labels with one more.
fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

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
