//! How a partition is divided and wired.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::IpuCount;

/// What a partition of some size is to be like; what is `None` the site or the controller decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// Graph compilation domains: programs that use it side by side; 0 is as few as there can be.
    pub gcds: u32,
    /// Data-parallel replicas of all GCDs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Whether a program may use a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconfigurable: Option<bool>,
    /// How the global sync is wired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
    /// Routing over IPU-Links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_routing: Option<LinkRouting>,
    /// Routing between IPU-Link domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_routing: Option<GatewayRouting>,
}

/// One of a few words.
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// The words, each with what it means.
    const WORDS: &'static [(&'static str, Self)];

    /// What a word means.
    #[must_use]
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }
}

/// How the global sync of a partition is wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// The controller's default, and the only one of a reconfigurable partition.
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

/// How packets find their way over IPU-Links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkRouting {
    /// The usual one of small partitions.
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

/// How packets find their way between IPU-Link domains.
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

/// Why no partition of a size can be of a shape; the text names the option to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(String);

/// A number of IPUs, with the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipus(pub IpuCount);

impl fmt::Display for Ipus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} IPU{}", self.0, if self.0 == IpuCount::ONE { "" } else { "s" })
    }
}

impl Shape {
    /// Everything left to the site and the controller.
    pub const OPEN: Self = Self {
        gcds: 0,
        replicas: None,
        reconfigurable: None,
        sync: None,
        link_routing: None,
        gateway_routing: None,
    };

    /// Whether everything is left to the site and the controller.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::OPEN
    }

    /// This shape, reconfigurable if the site has it so, the user left it open, and nothing else asked for
    /// forbids it.
    #[must_use]
    pub fn by_site(self, reconfigurable: bool) -> Self {
        let may_be = self.gcds <= 1 && self.sync.is_none_or(|sync| sync == Sync::C2Compatible);
        let by_site = (reconfigurable && may_be).then_some(true);
        Self { reconfigurable: self.reconfigurable.or(by_site), ..self }
    }

    /// This shape with its number of GCDs said: if the user left it open, one for each of `nodes`, or as few
    /// as there can be where IPUs or replicas cannot be shared out so, or the partition is reconfigurable.
    #[must_use]
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

    /// Whether there can be such a partition, of `size` IPUs and with IPU-Link domains of `domain`.
    ///
    /// # Errors
    /// Says what does not go together.
    pub fn check(self, size: IpuCount, domain: IpuCount) -> Result<(), Misfit> {
        let Self { gcds, replicas, .. } = self.settled(size, domain, 1);
        let (domains, ipus) = (size.domains(domain), Ipus(size));
        let misfit = |words| Err(Misfit(words));
        // Each GCD lies in one domain.
        if gcds < domains {
            return misfit(format!(
                "--ipu-gcds={gcds}: {ipus} are in {domains} IPU-Link domains, and each needs a GCD of its own"
            ));
        }
        if !size.get().is_multiple_of(gcds) {
            return misfit(format!("--ipu-gcds={gcds}: {ipus} cannot be divided into so many GCDs"));
        }
        if let Some(replicas) = replicas.filter(|replicas| *replicas > size.get()) {
            return misfit(format!("--ipu-replicas={replicas}: there are {ipus}"));
        }
        if let Some(replicas) = replicas.filter(|replicas| !replicas.is_multiple_of(gcds)) {
            return misfit(format!(
                "--ipu-replicas={replicas}: each of the {gcds} GCDs has the same number of replicas"
            ));
        }
        // V-IPU makes no other reconfigurable partition.
        if self.reconfigurable == Some(true) {
            let such = "--ipu-reconfigurable: such a partition has";
            if gcds > 1 {
                return misfit(format!("{such} one GCD, not {gcds}"));
            }
            if self.sync.is_some_and(|sync| sync != Sync::C2Compatible) {
                return misfit(format!("{such} --ipu-sync=c2-compatible"));
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
    fn gcds_are_what_was_asked_else_one_for_each_node_or_domain() {
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
    fn what_does_not_go_together_is_told_by_its_option() {
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
