//! The objects beside a launcher: the hosts of MPI, and the right to reach the workers of this job alone.

use serde_json::{Value, json};

use super::labels;
use super::names::JobNames;
use crate::admission::JobShape;
use crate::api::IpuJob;

/// An object beside a launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Support {
    /// Hostfiles, one for each instance.
    ConfigMap,
    /// The launcher's account.
    ServiceAccount,
    /// Its rights.
    Role,
    /// Account and rights.
    RoleBinding,
}

impl Support {
    /// The kinds of objects beside the Pods of a job, in the order in which they are made.
    pub const ALL: [Self; 4] = [Self::ConfigMap, Self::ServiceAccount, Self::Role, Self::RoleBinding];

    /// The object of a job, complete for the API server.
    pub fn object(self, job: &IpuJob, shape: JobShape) -> Value {
        let names = JobNames::of(job);
        let workers = || (0..shape.instances).flat_map(|instance| names.workers(instance, shape.workers));
        let (api, kind, name, content) = match self {
            Self::ConfigMap => {
                let hosts = |instance| {
                    let lines =
                        names.workers(instance, shape.workers).map(|worker| format!("{worker} slots=1\n"));
                    (hostfile_key(instance), Value::from(lines.collect::<String>()))
                };
                let data: serde_json::Map<_, _> = (0..shape.instances).map(hosts).collect();
                ("v1", "ConfigMap", names.config(), json!({"data": data}))
            }
            Self::ServiceAccount => ("v1", "ServiceAccount", names.account(), json!({})),
            Self::Role => {
                let workers: Vec<_> = workers().collect();
                // A web socket is opened with get, and with create since Kubernetes 1.35.
                let rules = [("pods", &["get"][..]), ("pods/exec", &["create", "get"])].map(|(resource, verbs)| {
                    json!({"apiGroups": [""], "resources": [resource], "resourceNames": &workers, "verbs": verbs})
                });
                ("rbac.authorization.k8s.io/v1", "Role", names.account(), json!({"rules": rules}))
            }
            Self::RoleBinding => {
                let content = json!({
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": names.account()},
                    "subjects": [{"kind": "ServiceAccount", "name": names.account(), "namespace": names.namespace}],
                });
                ("rbac.authorization.k8s.io/v1", "RoleBinding", names.account(), content)
            }
        };
        let mut object = json!({
            "apiVersion": api,
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": names.namespace,
                "labels": {labels::JOB_NAME: names.job, labels::JOB_UID: names.uid},
                "ownerReferences": [names.owner()],
            },
        });
        if let (Value::Object(object), Value::Object(content)) = (&mut object, content) {
            object.extend(content);
        }
        object
    }
}

/// The key of an instance's hosts in the ConfigMap.
pub(super) fn hostfile_key(instance: u32) -> String {
    format!("hostfile-{instance}")
}

/// Whether an object of the API server is as wanted. The server adds members of its own.
pub(super) fn is_as_wanted(seen: &Value, wanted: &Value) -> bool {
    match (seen, wanted) {
        (Value::Object(seen), Value::Object(wanted)) => wanted.iter().all(|(member, wanted)| {
            seen.get(member).is_some_and(|seen| is_as_wanted(seen, wanted)) || is_empty(wanted)
        }),
        (Value::Array(seen), Value::Array(wanted)) => {
            seen.len() == wanted.len()
                && seen.iter().zip(wanted).all(|(seen, wanted)| is_as_wanted(seen, wanted))
        }
        _ => seen == wanted,
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}
