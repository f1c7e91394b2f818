//! Targets for a controller's replies: any bytes, and any values in a well-formed reply.

use driver::Listing;
use ledger::{Event, Ledger, Millis, ModelFacts, Violation};
use prost::Message;
use vipu_client::wire::{
    self, ListIpuAttributesReply, ListPartitionsReply, PartitionConfig, PartitionStatus,
};
use vipu_client::{Ipu, PartitionInfo};
use vipu_types::{ControllerName, Gcd, IpuCount, ModelName, PodId};

/// Reads a status. Also reads, after one byte, listings of partitions and of IPUs, which go to the ledger.
pub(super) fn replies(bytes: &[u8]) {
    if let Ok(status) = PartitionStatus::decode(bytes) {
        let _ = format!("{:?}", vipu_client::PartitionStatus::from(status));
    }
    let Some((cut, both)) = bytes.split_first() else { return };
    let (partitions, ipus) = both.split_at(both.len() * usize::from(*cut) / 256);
    let replies = (ListPartitionsReply::decode(partitions), ListIpuAttributesReply::decode(ipus));
    if let (Ok(partitions), Ok(ipus)) = replies {
        let ipus: Vec<_> = ipus.entries.into_iter().flat_map(Ipu::of_entry).collect();
        let partitions = partitions.partitions.into_iter().map(PartitionInfo::from).collect();
        listed(Listing::of(&ipus, partitions, |_| false));
    }
}

/// Checks that the ledger stays consistent after any listing.
fn listed(Listing { ipus, faulty, partitions, .. }: Listing) {
    let model = ModelName::new("pod64").unwrap();
    let pod = PodId { model: model.clone(), controller: ControllerName::new("c", 1).unwrap() };
    let facts = ModelFacts::new(model.clone(), vec![pod.controller.clone()], IpuCount::new(64).unwrap());
    let facts = ModelFacts { largest: 256, ..facts };
    let mut ledger = Ledger::new();
    ledger.apply(Millis(0), Event::Models(vec![facts]));
    // The second listing brings no news; the third has more IPUs.
    for (asked, ipus) in [(1, ipus), (2, ipus), (3, ipus.saturating_add(64))] {
        let partitions = partitions.clone();
        let (pod, asked) = (pod.clone(), Millis(asked));
        ledger.apply(asked, Event::Inventory { pod, asked, ipus, faulty, partitions });
        let _ = ledger.fits_now(&model, IpuCount::new(16).unwrap());
        let ours =
            |it: &Violation| !matches!(it, Violation::TwoOwners { .. } | Violation::Overcommitted { .. });
        let violations: Vec<_> = ledger.violations().into_iter().filter(ours).collect();
        assert_eq!(violations, []);
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let status = PartitionStatus { ready_state: 2, errors: vec!["broken".into()], ..Default::default() };
    let partition = |id: &str, from: u32| wire::Partition {
        id: id.into(),
        ready_state: 2,
        spec: Some(wire::PartitionSpec {
            ipus: (from..from + 4)
                .map(|topology_id| wire::PartitionIpu { topology_id, ..Default::default() })
                .collect(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let partitions = ListPartitionsReply { partitions: vec![partition("slurm_1", 0), partition("a b", 8)] }
        .encode_to_vec();
    let attributes = |state: &str| wire::list_ipu_attributes_reply::entry::Attributes {
        attributes: [("ipu error state".to_owned(), state.to_owned())].into(),
    };
    let entry = wire::list_ipu_attributes_reply::Entry {
        agent: "ag1".into(),
        ipu_attributes: (0..16)
            .map(|id| (id, attributes(if id == 3 { "bad" } else { "no errors" })))
            .collect(),
    };
    let ipus = ListIpuAttributesReply { entries: vec![entry] }.encode_to_vec();
    let both = [partitions.as_slice(), &ipus].concat();
    // The byte that cuts nearest to the end of the first listing. The tail of a listing may be lost.
    let cut = (partitions.len() * 256).div_ceil(both.len());
    let listing = std::iter::once(u8::try_from(cut).unwrap_or(u8::MAX)).chain(both).collect();
    vec![status.encode_to_vec(), listing]
}

/// Reads the configuration of a partition. Its IPUoF files read back as equal values.
pub(super) fn ipuof(bytes: &[u8]) {
    let Ok(config) = PartitionConfig::decode(bytes) else { return };
    for gcd in config.gcd_configs.into_iter().map(Gcd::from) {
        let json = ipuof::to_json(&gcd).unwrap();
        assert!(json.is_ascii() || std::str::from_utf8(&json).is_ok());
        assert_eq!(serde_json::from_slice::<Gcd>(&json).unwrap(), gcd);
    }
}

pub(super) fn ipuof_seeds() -> Vec<Vec<u8>> {
    let device = wire::IpuofDevice {
        ip: "10.1.5.1".into(),
        server_port: 50052,
        chip_id: "a \"b\"\n".into(),
        ..Default::default()
    };
    let gcd = wire::partition_config::Gcd {
        devices: vec![device.clone(), device],
        attributes: [("GCD Id".to_owned(), "0".to_owned())].into(),
    };
    let config = PartitionConfig {
        gcd_configs: vec![gcd.clone(), gcd],
        num_ipulink_segments: 1,
        ..Default::default()
    };
    vec![config.encode_to_vec()]
}
