//! Hosts whose own IPUs cannot be used (Mode=host).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use vipu_client::Ipu;
use vipu_types::{HostIpus, HostMap, Place, PodId};

/// The hosts that get no jobs, each with its fault and its IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenHosts(BTreeMap<String, (String, Vec<Place>)>);

impl BrokenHosts {
    /// The hosts of a map with an agent that the controller does not have, or an IPU that `is_unusable`.
    pub fn of(map: &HostMap, ipus: &[Ipu], is_unusable: impl Fn(&Ipu) -> bool, domain: u32) -> Self {
        let known: BTreeSet<&str> = ipus.iter().map(|ipu| ipu.agent.as_str()).collect();
        let broken: BTreeMap<&str, &Ipu> =
            ipus.iter().filter(|ipu| is_unusable(ipu)).map(|ipu| (ipu.agent.as_str(), ipu)).collect();
        let fault = |host: &HostIpus| {
            host.agents.iter().find_map(|agent| match broken.get(agent.name.as_str()) {
                _ if !known.contains(agent.name.as_str()) => {
                    Some(format!("{}: the controller has no agent {}", agent.place, agent.name))
                }
                Some(ipu) => {
                    let state = ipu.fault().unwrap_or("unusable");
                    Some(format!("IPU {} of agent {}: {state}", ipu.hardware_id, agent.name))
                }
                None => None,
            })
        };
        let places = |host: &HostIpus| {
            let place = |ipu: u32| Place { domain: ipu / domain, index: ipu % domain };
            host.ipus.clone().map(place).collect()
        };
        let with_fault = |host: &HostIpus| Some((host.host.clone(), (fault(host)?, places(host))));
        Self(map.hosts.iter().filter_map(with_fault).collect())
    }

    /// The places of their IPUs.
    pub fn places(&self) -> Vec<Place> {
        self.0.values().flat_map(|(_, places)| places).copied().collect()
    }
}

/// The hosts without jobs that were told to the administrator.
#[derive(Default)]
pub(crate) struct ToldHosts(RefCell<BrokenHosts>);

impl ToldHosts {
    /// Logs which hosts get no jobs from now on, and which do again.
    pub(crate) fn tell(&self, id: &PodId, now: &BrokenHosts) {
        let before = self.0.replace(now.clone());
        for (host, (fault, _)) in now.0.iter().filter(|(host, fault)| before.0.get(*host) != Some(fault)) {
            tracing::error!("no IPU job of model {} can start on {host}: {fault}", id.model);
        }
        for host in before.0.keys().filter(|host| !now.0.contains_key(*host)) {
            tracing::info!("the IPUs of {host} of model {} can be used again", id.model);
        }
    }
}

#[cfg(test)]
mod tests {
    use vipu_types::HostAgent;

    use super::*;

    #[test]
    fn mode_host_with_an_unknown_agent_or_a_broken_ipu_gets_no_job() {
        let host = |number: u32, agents: [&str; 2]| HostIpus {
            host: format!("h{number}"),
            ipus: number * 8..(number + 1) * 8,
            agents: agents.map(|it| HostAgent { name: it.into(), place: format!("m:{number}:9") }).into(),
        };
        let hosts = vec![host(0, ["a", "b"]), host(1, ["c", "x"]), host(2, ["e", "f"])];
        let ipu = |agent: &str, state: &str| Ipu {
            agent: agent.into(),
            hardware_id: 3,
            attributes: [("ipu error state".to_owned(), state.to_owned())].into(),
        };
        let ipus = ["a", "b", "c", "e"].map(|agent| ipu(agent, "no errors"));
        let ipus: Vec<_> = ipus.into_iter().chain([ipu("f", "hardware error")]).collect();
        let found = BrokenHosts::of(&HostMap { hosts }, &ipus, |ipu| ipu.fault().is_some(), 16);
        let faults: Vec<_> = found.0.iter().map(|(host, (fault, _))| format!("{host}: {fault}")).collect();
        let expected = ["h1: m:1:9: the controller has no agent x", "h2: IPU 3 of agent f: hardware error"];
        assert_eq!(faults, expected);
        let places = found.places();
        assert_eq!((places.len(), places[0], places[8]), (16, place(0, 8), place(1, 0)));
    }

    fn place(domain: u32, index: u32) -> Place {
        Place { domain, index }
    }
}
