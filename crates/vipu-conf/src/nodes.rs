//! The nodes of each controller (`Nodes`).

use std::collections::{BTreeMap, BTreeSet};

use slurm_conf::HostList;
use vipu_types::{ControllerName, words};

use crate::value::{Value, controller};

/// Reads `vipu1=a-[1-4] vipu2=b-[1-4],c`: host lists, one for each of these controllers. `default_port` is that of
/// controllers without a port of their own.
pub(crate) fn nodes(
    text: &str,
    controllers: &[ControllerName],
    default_port: u16,
) -> Value<BTreeMap<ControllerName, String>> {
    let mut found = BTreeMap::new();
    let mut owners: BTreeMap<String, ControllerName> = BTreeMap::new();
    for element in text.split_whitespace() {
        let (name, list) = element.split_once('=').ok_or_else(|| words!("'{element}' is not {FORM}"))?;
        let name = controller(name, default_port).map_err(|why| words!("'{name}' is {why}"))?;
        if !controllers.contains(&name) {
            return Err(words!("ApiHost has no controller {name}"));
        }
        let hosts = HostList::parse(list).map_err(|why| words!("the nodes of {name}: {why}"))?;
        let own: BTreeSet<String> = hosts.names().collect();
        if own.is_empty() {
            return Err(words!("{name} has no nodes: '{element}' is not {FORM}"));
        }
        for node in own {
            if let Some(other) = owners.insert(node.clone(), name.clone()) {
                return Err(words!("node {node} cannot be of {other} and of {name}"));
            }
        }
        if found.insert(name.clone(), list.to_owned()).is_some() {
            return Err(words!("{name} is given twice: write one list"));
        }
    }
    match controllers.iter().find(|name| !found.contains_key(name)) {
        Some(left) => Err(words!("{left} has no nodes, so that no job could use it: add {left}=<nodes>")),
        None => Ok(found),
    }
}

const FORM: &str = "<controller>=<nodes>, as in vipu1=node[01-04]";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value<BTreeMap<ControllerName, String>> {
        let all = ["vipu1:8090", "vipu2:9000", "[::1]:8090"].map(|name| name.parse().unwrap());
        nodes(text, &all, 8090)
    }

    #[test]
    fn mode_nodes_are_lists_for_each_controller() {
        let found = read("vipu1=a-[1-2] vipu2:9000=b1,c[3,5]  [::1]=d").unwrap();
        let of = |name: &str| found[&name.parse().unwrap()].as_str();
        assert_eq!(["vipu1:8090", "vipu2:9000", "[::1]:8090"].map(of), ["a-[1-2]", "b1,c[3,5]", "d"]);
    }

    #[test]
    fn mode_nodes_that_are_wrong_are_named() {
        for (text, part) in [
            ("", "vipu1:8090 has no nodes"),
            ("a[1-2]", "'a[1-2]' is not <controller>=<nodes>"),
            ("vipu3=a", "ApiHost has no controller vipu3:8090"),
            ("vipu2=a", "ApiHost has no controller vipu2:8090"),
            ("vipu1=a[1-", "the nodes of vipu1:8090: the brackets"),
            ("vipu1=", "vipu1:8090 has no nodes"),
            ("vipu1=a[1-4] vipu2:9000=b,a3", "node a3 cannot be of vipu1:8090 and of vipu2:9000"),
            ("vipu1=a vipu1=b", "vipu1:8090 is given twice"),
            ("vipu1=a vipu2:9000=b", "[::1]:8090 has no nodes"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
