//! The partitions on controllers that no job of this cluster has: others have made them, or they are out of use.

use serde::Serialize;
use vipu_status::OtherIpus;

use crate::error::Failure;
use crate::ipu_use::Use;
use crate::page::{Page, Tone};
use crate::table::{Column, list};
use crate::view::View;
use crate::{names, safe};

/// Such a partition.
#[derive(Serialize)]
pub(crate) struct OtherPartition<'a> {
    model: &'a str,
    controller: &'a str,
    #[serde(flatten)]
    ipus: &'a OtherIpus,
}

impl OtherPartition<'_> {
    /// Its id on its controller.
    pub(crate) fn id(&self) -> &str {
        self.ipus.partition.as_deref().unwrap_or_default()
    }

    fn state(&self) -> String {
        let leaving = if self.ipus.leaving { ", leaving" } else { "" };
        format!("{}{leaving}", Use::of_other(self.ipus.because).name().0)
    }
}

/// All of the models that the options choose.
pub(crate) fn all<'a>(view: &'a View<'_>) -> Vec<OtherPartition<'a>> {
    let pods = view.chosen.models.iter().flat_map(|model| model.pods.iter().map(move |pod| (model, pod)));
    let others = pods.flat_map(|(model, pod)| pod.others.iter().map(move |ipus| (model, pod, ipus)));
    let partitions = others.filter(|(_, _, ipus)| ipus.partition.is_some());
    let of = |(model, pod, ipus): (&'a vipu_status::Model, &'a vipu_status::Pod, &'a OtherIpus)| {
        OtherPartition { model: &model.name, controller: &pod.controller, ipus }
    };
    partitions.map(of).collect()
}

type Listed<'a> = Column<OtherPartition<'a>>;

/// Adds their list.
pub(crate) fn add_list(
    page: &mut Page,
    view: &View<'_>,
    partitions: &[OtherPartition<'_>],
) -> Result<(), Failure> {
    let columns = [
        Listed::new("id", "ID", 36, |row, _| row.id().to_owned()),
        Listed::new("model", "MODEL", 16, |row, _| row.model.to_owned()),
        Listed::new("controller", "CONTROLLER", 30, |row, _| row.controller.to_owned()),
        Listed::new("size", "IPUS", 10, |row, _| row.ipus.places.len().to_string()).on_the_right(),
        Listed::new("state", "STATE", 20, |row, _| row.state()),
        Listed::new("place", "PLACE", 60, |row, _| names::places(&row.ipus.places)),
    ];
    let rows: Vec<_> = partitions.iter().collect();
    list(page, view, "partitions that no job of this cluster has", &columns, &rows, "partitions --json")
}

/// Adds the lines about one.
pub(crate) fn add(page: &mut Page, row: &OtherPartition<'_>) {
    page.toned(&[(Tone::Bold, &format!("partition {}", safe::cut(row.id(), 60)))]);
    page.fields(&[
        ("job", "none of this cluster".to_owned()),
        ("model", row.model.to_owned()),
        ("controller", row.controller.to_owned()),
        ("IPUs", row.ipus.places.len().to_string()),
        ("places", names::places(&row.ipus.places)),
        ("state", row.state()),
    ]);
}
