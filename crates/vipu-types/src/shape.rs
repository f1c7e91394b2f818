//! The division and the wiring of a partition.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{IpuCount, Words, words};

/// The shape that a job asks for. The site or the controller decides everything that is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// The number of graph compilation domains, each for one program. 0 stands for the smallest possible
    /// number.
    pub gcds: u32,
    /// The number of data-parallel replicas in all GCDs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Whether a program may use a part of the partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconfigurable: Option<bool>,
    /// The wiring of the global sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
    /// The routing over IPU-Links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_routing: Option<LinkRouting>,
    /// The routing between IPU-Link domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_routing: Option<GatewayRouting>,
}

/// An enumeration that users write as words.
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// The words and their values.
    const WORDS: &'static [(&'static str, Self)];

    /// The value of a word.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }
}

/// The wiring of the global sync of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// The controller's default. A reconfigurable partition can have no other.
    C2Compatible,
    /// Native to Pods.
    PodNativeDefault,
    /// Native to Pods, for replicated pipelines.
    PodNativeReplicatedPipeline,
}

impl Choice for Sync {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("c2-compatible", Self::C2Compatible),
        ("pod-native-default", Self::PodNativeDefault),
        ("pod-native-replicated-pipeline", Self::PodNativeReplicatedPipeline),
    ];
}

/// The routing of packets over IPU-Links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkRouting {
    /// The usual routing of small partitions.
    Dnc,
    /// Sliding window.
    Swnc,
    /// Barley twist.
    Btnc,
    /// Sliding window over a looped domain.
    RingSwnc,
}

impl Choice for LinkRouting {
    const WORDS: &'static [(&'static str, Self)] =
        &[("dnc", Self::Dnc), ("swnc", Self::Swnc), ("btnc", Self::Btnc), ("ringswnc", Self::RingSwnc)];
}

/// The routing of packets between IPU-Link domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatewayRouting {
    /// Gateway links in a loop.
    Ring,
    /// Gateway links through switches.
    SwRing,
}

impl Choice for GatewayRouting {
    const WORDS: &'static [(&'static str, Self)] = &[("ring", Self::Ring), ("swring", Self::SwRing)];
}

/// A number of IPUs in words, as in `1 IPU` or `2 IPUs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipus(pub IpuCount);

impl fmt::Display for Ipus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} IPU{}", self.0, if self.0 == IpuCount::ONE { "" } else { "s" })
    }
}

impl Shape {
    /// A shape that leaves everything to the site and the controller.
    pub const OPEN: Self = Self {
        gcds: 0,
        replicas: None,
        reconfigurable: None,
        sync: None,
        link_routing: None,
        gateway_routing: None,
    };

    /// Whether the shape leaves everything to the site and the controller.
    pub fn is_open(&self) -> bool {
        *self == Self::OPEN
    }

    /// This shape, reconfigurable if that is the site's default, the user has not chosen, and no other wish
    /// forbids it.
    pub fn by_site(self, reconfigurable: bool) -> Self {
        let may_be = self.gcds <= 1 && self.sync.is_none_or(|sync| sync == Sync::C2Compatible);
        let by_site = (reconfigurable && may_be).then_some(true);
        Self { reconfigurable: self.reconfigurable.or(by_site), ..self }
    }

    /// This shape with a definite number of GCDs. If the user has not chosen, there is one GCD for each of
    /// `nodes`. There are as few as possible if the IPUs or replicas cannot be divided that way, or if the
    /// partition is reconfigurable.
    pub fn settled(self, size: IpuCount, domain: IpuCount, nodes: u32) -> Self {
        let fewest = size.domains(domain);
        let for_nodes = nodes.is_power_of_two()
            && nodes <= size.get()
            && self.replicas.is_none_or(|replicas| replicas.is_multiple_of(nodes))
            && self.reconfigurable != Some(true);
        let gcds = match self.gcds {
            0 if for_nodes => nodes.max(fewest),
            0 => fewest,
            asked => asked,
        };
        Self { gcds, ..self }
    }

    /// Checks that a partition of `size` IPUs can have this shape, with IPU-Link domains of `domain` IPUs.
    ///
    /// # Errors
    /// The wishes that contradict each other. The text names the option to change.
    pub fn check(self, size: IpuCount, domain: IpuCount) -> Result<(), Words> {
        let Self { gcds, replicas, .. } = self.settled(size, domain, 1);
        let (domains, ipus) = (size.domains(domain), Ipus(size));
        // Each GCD lies in one domain.
        if gcds < domains {
            return Err(words!(
                "--ipu-gcds={gcds}: {ipus} are in {domains} IPU-Link domains, and each needs a GCD of its own"
            ));
        }
        if !size.get().is_multiple_of(gcds) {
            return Err(words!("--ipu-gcds={gcds}: {ipus} cannot be divided into so many GCDs"));
        }
        if let Some(replicas) = replicas.filter(|replicas| *replicas > size.get()) {
            return Err(words!("--ipu-replicas={replicas}: there are {ipus}"));
        }
        if let Some(replicas) = replicas.filter(|replicas| !replicas.is_multiple_of(gcds)) {
            return Err(words!(
                "--ipu-replicas={replicas}: each of the {gcds} GCDs has the same number of replicas"
            ));
        }
        // V-IPU makes no other reconfigurable partition.
        if self.reconfigurable == Some(true) {
            let such = "--ipu-reconfigurable: such a partition has";
            if gcds > 1 {
                return Err(words!("{such} one GCD, not {gcds}"));
            }
            if self.sync.is_some_and(|sync| sync != Sync::C2Compatible) {
                return Err(words!("{such} --ipu-sync=c2-compatible"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: u64 = 64;

    fn ipus(count: u64) -> IpuCount {
        IpuCount::new(count).unwrap()
    }

    fn misfit(size: u64, shape: Shape) -> String {
        shape.check(ipus(size), ipus(DOMAIN)).map_or_else(|why| why.to_string(), |()| "fits".into())
    }

    #[test]
    fn gcds_are_as_asked_or_one_for_each_node_or_domain() {
        for (size, asked, nodes, gcds) in [
            (16, 0, 1, 1),
            (16, 4, 1, 4),
            (16, 0, 2, 2),
            (16, 2, 4, 2),
            (16, 0, 3, 1),
            (2, 0, 4, 1),
            (128, 0, 1, 2),
            (128, 0, 4, 4),
            (128, 8, 1, 8),
        ] {
            let settled = Shape { gcds: asked, ..Shape::default() }.settled(ipus(size), ipus(DOMAIN), nodes);
            assert_eq!(settled.gcds, gcds, "{size} IPUs, {asked} asked, {nodes} nodes");
        }
        let plain = Shape::default();
        for one in [Shape { reconfigurable: Some(true), ..plain }, Shape { replicas: Some(2), ..plain }] {
            assert_eq!(one.settled(ipus(16), ipus(DOMAIN), 4).gcds, 1, "{one:?}");
        }
    }

    #[test]
    fn a_partition_is_reconfigurable_by_the_site_unless_its_job_wants_another_shape() {
        let plain = Shape::default();
        for (shape, by_site, by_default) in [
            (plain, Some(true), None),
            (Shape { reconfigurable: Some(false), ..plain }, Some(false), Some(false)),
            (Shape { reconfigurable: Some(true), ..plain }, Some(true), Some(true)),
            (Shape { gcds: 1, ..plain }, Some(true), None),
            (Shape { gcds: 2, ..plain }, None, None),
        ] {
            let settled = [true, false].map(|site| shape.by_site(site).reconfigurable);
            assert_eq!(settled, [by_site, by_default], "{shape:?}");
        }
    }

    #[test]
    fn contradicting_options_are_named() {
        let plain = Shape::default();
        let reconfigurable = Shape { reconfigurable: Some(true), ..plain };
        let pipeline = Some(Sync::PodNativeReplicatedPipeline);
        for (size, shape, answer) in [
            (16, plain, "fits"),
            (16, Shape { gcds: 4, replicas: Some(8), ..plain }, "fits"),
            (16, Shape { sync: Some(Sync::C2Compatible), ..reconfigurable }, "fits"),
            (16, Shape { gcds: 3, ..plain }, "--ipu-gcds=3: 16 IPUs cannot be divided into so many GCDs"),
            (1, Shape { gcds: 2, ..plain }, "--ipu-gcds=2: 1 IPU cannot be divided into so many GCDs"),
            (
                128,
                Shape { gcds: 1, ..plain },
                "--ipu-gcds=1: 128 IPUs are in 2 IPU-Link domains, and each needs a GCD of its own",
            ),
            (
                16,
                Shape { gcds: 4, replicas: Some(2), ..plain },
                "--ipu-replicas=2: each of the 4 GCDs has the same number of replicas",
            ),
            (4, Shape { replicas: Some(8), ..plain }, "--ipu-replicas=8: there are 4 IPUs"),
            (
                16,
                Shape { gcds: 2, ..reconfigurable },
                "--ipu-reconfigurable: such a partition has one GCD, not 2",
            ),
            (128, reconfigurable, "--ipu-reconfigurable: such a partition has one GCD, not 2"),
            (
                16,
                Shape { sync: pipeline, ..reconfigurable },
                "--ipu-reconfigurable: such a partition has --ipu-sync=c2-compatible",
            ),
        ] {
            assert_eq!(misfit(size, shape), answer, "{shape:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_shape_left_open_fits_any_size_on_any_nodes(log in 0_u32..12, nodes in 0_u32..100) {
            let size = ipus(1 << log);
            let settled = Shape::default().settled(size, ipus(DOMAIN), nodes);
            proptest::prop_assert_eq!(settled.check(size, ipus(DOMAIN)), Ok(()));
        }
    }
}
