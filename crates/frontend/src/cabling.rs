//! The IPUs that belong to nodes: those of one controller (`Nodes`), or those of each host (`Mode=host`).
//!
//! A job gets nodes and IPUs that belong together. A *group* is a set of nodes with their IPUs, among which the nodes
//! of a job may be chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use vipu_types::{ControllerName, IpuCount, Words, words};

/// The IPUs of nodes, by the nodes' numbers in Slurm's node table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cabling {
    /// The controller of each node. Jobs on its nodes get its IPUs.
    Controllers(BTreeMap<u32, ControllerName>),
    /// The IPUs of each node, which are an aligned block of as many as others have. A job gets those of its nodes.
    Hosts(BTreeMap<u32, Range<u32>>),
}

/// Nodes, with the IPUs that belong to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeGroup {
    /// Those among which the job may choose. Empty if it can have none.
    pub(crate) nodes: Vec<u32>,
    pub(crate) ipus: GroupIpus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupIpus {
    /// Any of a controller.
    Of(ControllerName),
    /// Exactly these of the first controller. The job has all nodes of the group.
    Block(Range<usize>),
}

impl NodeGroup {
    /// Its controller, if its IPUs are any of that.
    pub(crate) fn controller(&self) -> Option<&ControllerName> {
        if let GroupIpus::Of(controller) = &self.ipus { Some(controller) } else { None }
    }
}

impl Cabling {
    /// The groups for a job with this number of IPUs that needs at least `fewest` of these nodes, in the order in
    /// which they are tried. If none has enough nodes, the one with most, so that the stock selector says no for want
    /// of nodes. Empty if the job's number of nodes does not belong to its number of IPUs. `all` are the controllers of
    /// the model.
    pub(crate) fn groups(
        &self,
        all: &[ControllerName],
        size: IpuCount,
        nodes: &[u32],
        fewest: u32,
    ) -> Vec<NodeGroup> {
        let (groups, needed) = match self {
            Self::Controllers(owners) => (of_controllers(owners, all, nodes), fewest.max(1) as usize),
            Self::Hosts(_) if fewest != self.hosts_of(size) => return Vec::new(),
            Self::Hosts(_) => (self.of_hosts(size, nodes), fewest as usize),
        };
        let has_most = |groups: &[NodeGroup]| groups.iter().rev().max_by_key(|it| it.nodes.len()).cloned();
        let enough: Vec<_> = groups.iter().filter(|it| it.nodes.len() >= needed).cloned().collect();
        if enough.is_empty() { has_most(&groups).into_iter().collect() } else { enough }
    }

    /// The blocks of a partition of this size whose IPUs all belong to hosts, each with its hosts among these nodes.
    fn of_hosts(&self, size: IpuCount, nodes: &[u32]) -> Vec<NodeGroup> {
        let among: BTreeSet<u32> = nodes.iter().copied().collect();
        let group = |(ipus, hosts): (Range<usize>, Vec<u32>)| NodeGroup {
            nodes: hosts.into_iter().filter(|node| among.contains(node)).collect(),
            ipus: GroupIpus::Block(ipus),
        };
        self.blocks(size).map(group).collect()
    }

    /// The blocks of a partition of this size whose IPUs all belong to hosts, with these hosts.
    fn blocks(&self, size: IpuCount) -> impl Iterator<Item = (Range<usize>, Vec<u32>)> {
        let (size, needed) = (size.get(), self.hosts_of(size) as usize);
        let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        if let Self::Hosts(hosts) = self {
            for (node, ipus) in hosts.iter().filter(|(_, ipus)| ipus.end - ipus.start <= size) {
                blocks.entry(ipus.start / size).or_default().push(*node);
            }
        }
        let complete = blocks.into_iter().filter(move |(_, hosts)| hosts.len() == needed);
        complete.map(move |(number, hosts)| {
            let first = (number * size) as usize;
            (first..first + size as usize, hosts)
        })
    }

    /// The number of IPUs of each host. None unless IPUs belong to hosts.
    pub(crate) fn ipus_of_each(&self) -> Option<u32> {
        let Self::Hosts(hosts) = self else { return None };
        hosts.values().next().map(|ipus| ipus.end - ipus.start)
    }

    /// The number of hosts of a partition of this size.
    pub(crate) fn hosts_of(&self, size: IpuCount) -> u32 {
        self.ipus_of_each().map_or(0, |each| size.get().div_ceil(each))
    }

    /// The sizes of the partitions that hosts can have.
    pub(crate) fn sizes(&self) -> BTreeSet<IpuCount> {
        let Some(each) = self.ipus_of_each() else { return BTreeSet::new() };
        let sizes = std::iter::successors(Some(u64::from(each)), |size| Some(size * 2));
        let sizes = sizes.map_while(|size| IpuCount::new(size).ok());
        sizes.take_while(|size| self.blocks(*size).next().is_some()).collect()
    }

    /// The IPUs of a job with exactly these nodes: a controller, or a block.
    ///
    /// # Errors
    /// The reason why they have none.
    pub(crate) fn of_nodes(&self, nodes: &[u32]) -> Result<GroupIpus, Words> {
        match self {
            Self::Controllers(owners) => owner(owners, nodes).map(GroupIpus::Of),
            Self::Hosts(hosts) => block(hosts, nodes).map(GroupIpus::Block),
        }
    }

    /// The most nodes of one controller. None if IPUs belong to hosts.
    pub(crate) fn most_nodes(&self, all: &[ControllerName]) -> Option<usize> {
        let Self::Controllers(owners) = self else { return None };
        let count =
            |controller: &ControllerName| owners.values().filter(|owner| *owner == controller).count();
        Some(all.iter().map(count).max().unwrap_or(0))
    }
}

fn of_controllers(
    owners: &BTreeMap<u32, ControllerName>,
    all: &[ControllerName],
    nodes: &[u32],
) -> Vec<NodeGroup> {
    let own = |controller: &ControllerName| NodeGroup {
        nodes: nodes.iter().filter(|node| owners.get(node) == Some(controller)).copied().collect(),
        ipus: GroupIpus::Of(controller.clone()),
    };
    all.iter().map(own).collect()
}

fn owner(owners: &BTreeMap<u32, ControllerName>, nodes: &[u32]) -> Result<ControllerName, Words> {
    let found: BTreeSet<_> = nodes.iter().map(|node| owners.get(node)).collect();
    match &found.into_iter().collect::<Vec<_>>()[..] {
        [Some(one)] => Ok((*one).clone()),
        [] => Err("it has no nodes".into()),
        several if several.contains(&None) => Err("Nodes= gives one of its nodes to no controller".into()),
        several => {
            let names: Vec<_> = several.iter().flatten().map(|it| it.to_string()).collect();
            Err(words!("Nodes= gives its nodes to different controllers: {}", names.join(", ")))
        }
    }
}

fn block(hosts: &BTreeMap<u32, Range<u32>>, nodes: &[u32]) -> Result<Range<usize>, Words> {
    let own: Option<Vec<_>> = nodes.iter().map(|node| hosts.get(node)).collect();
    let own = own.ok_or("HostMap gives one of its nodes no IPUs")?;
    let first = own.iter().map(|ipus| ipus.start).min().ok_or("it has no nodes")?;
    let last = own.iter().map(|ipus| ipus.end).max().unwrap_or(first);
    let count: u32 = own.iter().map(|ipus| ipus.end - ipus.start).sum();
    let is_block = count == last - first && count.is_power_of_two() && first % count == 0;
    match is_block {
        true => Ok(first as usize..last as usize),
        false => Err("HostMap gives its nodes IPUs that can be no partition".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts 1 to 6 with four IPUs each. Host 4 is missing.
    fn hosts() -> Cabling {
        let ipus = |node: u32| (node, (node - 1) * 4..node * 4);
        Cabling::Hosts([1, 2, 3, 5, 6].map(ipus).into())
    }

    fn size(ipus: u64) -> IpuCount {
        IpuCount::new(ipus).unwrap()
    }

    #[test]
    fn mode_host_groups_are_blocks_whose_hosts_are_all_there() {
        let nodes = |ipus: u64, nodes: &[u32]| {
            let groups = hosts().groups(&[], size(ipus), nodes, (ipus / 4) as u32);
            groups.into_iter().map(|it| (it.nodes, it.ipus)).collect::<Vec<_>>()
        };
        let all = [1, 2, 3, 5, 6];
        let (low, high) = (GroupIpus::Block(0..8), GroupIpus::Block(16..24));
        assert_eq!(nodes(8, &all), [(vec![1, 2], low.clone()), (vec![5, 6], high.clone())]);
        assert_eq!(nodes(8, &[2, 3, 5, 6]), [(vec![5, 6], high)]);
        assert_eq!(nodes(8, &[2, 3]), [(vec![2], low)], "not enough");
        assert_eq!(nodes(4, &[3]), [(vec![3], GroupIpus::Block(8..12))]);
        assert_eq!(nodes(16, &all), [], "host 4 is missing");
        assert_eq!(hosts().sizes().into_iter().map(IpuCount::get).collect::<Vec<_>>(), [4, 8]);
        assert_eq!((hosts().hosts_of(size(8)), hosts().ipus_of_each()), (2, Some(4)));
    }

    #[test]
    fn mode_host_nodes_have_the_block_of_their_ipus() {
        for (nodes, ipus) in [
            (vec![2], Ok(4..8)),
            (vec![2, 1], Ok(0..8)),
            (vec![2, 3], Err("no partition")),
            (vec![4], Err("no IPUs")),
        ] {
            match (hosts().of_nodes(&nodes), ipus) {
                (Ok(found), Ok(ipus)) => assert_eq!(found, GroupIpus::Block(ipus)),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{nodes:?}: {found:?}"),
            }
        }
        assert!(hosts().of_nodes(&[]).is_err());
    }
}
