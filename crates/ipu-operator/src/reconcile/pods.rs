//! The Pods of a job, from its template.
//!
//! A template is handled as it was written, so that members of later releases of Kubernetes reach the Pods.

use ipuof::variables;
use serde_json::{Map, Value, json};

use super::labels;
use super::names::JobNames;
use super::pod_facts::Role;
use super::seen::{ReadyPartition, Settings};
use super::support::hostfile_key;
use crate::admission::JobShape;
use crate::api::IpuJob;

/// Where the launcher finds its hosts, as with Kubeflow's operator for MPI.
const MPI: &str = "/etc/mpi";

/// Where the launcher finds the remote shell.
const TOOLS: &str = "/opt/ipu-operator";

/// The names of the volumes that launchers have besides those of the template.
const MPI_VOLUME: &str = "ipu-operator-mpi";
const TOOLS_VOLUME: &str = "ipu-operator-tools";

/// The program of a Pod whose work is begun from outside. A shell that waits ends at once when it is told to.
const HOLD: &str = "trap 'exit 0' TERM INT; sleep 31536000 & wait";

/// Members of a container that are for its own program, which a launcher does not run.
const OF_PROGRAM: [&str; 6] =
    ["args", "lifecycle", "livenessProbe", "ports", "readinessProbe", "startupProbe"];

/// A Pod that is to be made: its place in the job, and what it uses.
#[derive(Clone, Copy, Debug)]
pub struct WantedPod<'a> {
    /// The job.
    pub job: &'a IpuJob,
    /// Its numbers.
    pub shape: JobShape,
    /// The Pod's instance.
    pub instance: u32,
    /// Its part in the instance.
    pub role: Role,
    /// The partition of the instance.
    pub partition: &'a ReadyPartition,
    /// The operator's settings.
    pub settings: &'a Settings,
}

impl WantedPod<'_> {
    /// The Pod, complete for the API server.
    pub fn object(&self) -> Value {
        let names = JobNames::of(self.job);
        let template = &self.job.spec.workers.template;
        let mut spec = template.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        match self.role {
            Role::Worker(worker) => self.make_worker(&mut spec, worker),
            Role::Launcher => self.make_launcher(&mut spec, &names),
        }
        // The job restarts, not the Pod.
        spec.insert("restartPolicy".to_owned(), "Never".into());
        if self.settings.host_network && !spec.contains_key("hostNetwork") {
            spec.insert("hostNetwork".to_owned(), true.into());
            spec.entry("dnsPolicy").or_insert_with(|| "ClusterFirstWithHostNet".into());
        }
        let own = spec.get("nodeSelector").and_then(Value::as_object).cloned().unwrap_or_default();
        let of_controller = self.partition.node_labels.iter();
        let of_controller = of_controller.map(|(label, value)| (label.clone(), value.as_str().into()));
        spec.insert("nodeSelector".to_owned(), own.into_iter().chain(of_controller).collect());
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": self.metadata(&names), "spec": spec})
    }

    fn metadata(&self, names: &JobNames) -> Value {
        let template = self.job.spec.workers.template.get("metadata");
        let of_template = |member| template.and_then(|metadata| metadata.get(member)?.as_object()).cloned();
        let mut labels = of_template("labels").unwrap_or_default();
        let role = match self.role {
            Role::Worker(worker) => {
                labels.insert(labels::WORKER.to_owned(), worker.to_string().into());
                labels::WORKER_ROLE
            }
            Role::Launcher => labels::LAUNCHER,
        };
        for (label, value) in [
            (labels::JOB_NAME, names.job.clone()),
            (labels::JOB_UID, names.uid.clone()),
            (labels::ROLE, role.to_owned()),
            (labels::INSTANCE, self.instance.to_string()),
            (labels::RUN, self.partition.run.to_string()),
        ] {
            labels.insert(label.to_owned(), value.into());
        }
        json!({
            "name": names.pod(self.instance, self.role, self.shape.workers),
            "namespace": names.namespace,
            "labels": labels,
            "annotations": of_template("annotations").unwrap_or_default(),
            "ownerReferences": [names.owner()],
        })
    }

    fn make_worker(&self, spec: &mut Map<String, Value>, worker: u32) {
        let containers = spec.get_mut("containers").and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            self.set_partition(container, Some(worker));
        }
        if self.job.spec.launcher.is_some() || self.job.spec.interactive.is_some() {
            // Its work is started from the launcher.
            if let Some(main) = spec.get_mut("containers").and_then(|all| all.get_mut(0)?.as_object_mut()) {
                main.insert("command".to_owned(), hold());
                main.remove("args");
            }
        }
    }

    fn make_launcher(&self, spec: &mut Map<String, Value>, names: &JobNames) {
        let containers = spec.get("containers").and_then(Value::as_array);
        let mut main = containers.and_then(|all| all.first()?.as_object()).cloned().unwrap_or_default();
        OF_PROGRAM.iter().for_each(|member| drop(main.remove(*member)));
        let launcher = self.job.spec.launcher.as_ref();
        let command = launcher.map_or_else(hold, |launcher| launcher.command.clone().into());
        main.insert("command".to_owned(), command);
        let rsh = format!("{TOOLS}/ipu-operator rsh");
        let hostfile = format!("{MPI}/hostfile");
        let of_mpi = [("OMPI_MCA_plm_rsh_agent", rsh), ("OMPI_MCA_orte_default_hostfile", hostfile.clone())];
        set_variables(&mut main, &of_mpi.map(|(name, value)| json!({"name": name, "value": value})));
        set_variables(&mut main, launcher.map_or(&[], |launcher| &launcher.env));
        self.set_partition(&mut main, None);
        let mounts = [
            json!({"name": MPI_VOLUME, "mountPath": MPI, "readOnly": true}),
            json!({"name": TOOLS_VOLUME, "mountPath": TOOLS}),
        ];
        add(&mut main, "volumeMounts", mounts.clone());
        spec.insert("containers".to_owned(), json!([main]));
        spec.insert(
            "initContainers".to_owned(),
            json!([{
                "name": "ipu-operator-wait",
                "image": self.settings.image,
                "args": ["wait", "--hostfile", hostfile, "--install", TOOLS],
                "volumeMounts": mounts,
            }]),
        );
        let hosts = json!([{"key": hostfile_key(self.instance), "path": "hostfile"}]);
        let mpi = json!({"name": MPI_VOLUME, "configMap": {"name": names.config(), "items": hosts}});
        add(spec, "volumes", [mpi, json!({"name": TOOLS_VOLUME, "emptyDir": {}})]);
        spec.insert("serviceAccountName".to_owned(), names.account().into());
        spec.insert("automountServiceAccountToken".to_owned(), true.into());
        // The older name of the account, which has to agree.
        spec.remove("serviceAccount");
    }

    /// Sets the variables by which a program finds its IPUs. The launcher has no GCD.
    fn set_partition(&self, container: &mut Map<String, Value>, gcd: Option<u32>) {
        // Those of the template would lead elsewhere. How long a program waits for the controller is its own.
        let mut env = array(container, "env");
        env.retain(|variable| {
            let name = variable["name"].as_str().unwrap_or_default();
            name == variables::API_TIMEOUT || !variables::FAMILIES.contains(&name)
        });
        container.insert("env".to_owned(), env.into());
        let ReadyPartition { id, host, port, .. } = self.partition;
        let gcd = gcd.map(|gcd| (variables::API_GCD_ID, gcd.to_string()));
        let of_partition = [
            (variables::API_HOST, host.clone()),
            (variables::API_PORT, port.to_string()),
            (variables::API_PARTITION_ID, id.clone()),
        ];
        let all = of_partition.into_iter().chain(gcd);
        let all: Vec<_> = all.map(|(name, value)| json!({"name": name, "value": value})).collect();
        set_variables(container, &all);
    }
}

fn hold() -> Value {
    json!(["/bin/sh", "-c", HOLD])
}

/// Sets variables of a container. Those that it has under these names go.
fn set_variables(container: &mut Map<String, Value>, variables: &[Value]) {
    let mut env = array(container, "env");
    env.retain(|old| variables.iter().all(|new| new["name"] != old["name"]));
    env.extend_from_slice(variables);
    container.insert("env".to_owned(), env.into());
}

/// Adds items to a member that is an array.
fn add(parent: &mut Map<String, Value>, member: &str, items: impl IntoIterator<Item = Value>) {
    let mut all = array(parent, member);
    all.extend(items);
    parent.insert(member.to_owned(), all.into());
}

/// Takes out a member that is an array. Another value counts as an empty one.
fn array(parent: &mut Map<String, Value>, member: &str) -> Vec<Value> {
    match parent.remove(member) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}
