//! The Kubernetes cluster of `crates/kubernetes-testbed`.
#![forbid(unsafe_code)]

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use kubernetes_testbed::{Cluster, Image, Settings};
use serde_json::{Value, json};

/// Settings of the machine that a kubelet changes where it is not kept from it.
const SETTINGS: [&str; 4] =
    ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"];

/// A Pod that runs this command once.
fn pod(name: &str, node: &str, image: Image, command: &str) -> Value {
    let container = json!({ "name": "main", "image": image.name(), "command": ["sh", "-c", command] });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": {
            "containers": [container],
            "nodeSelector": { "kubernetes.io/hostname": node },
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
        },
    })
}

#[test]
fn k8s_api_alone_keeps_custom_resources() -> Result<()> {
    Settings::api_only().run(|cluster| {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let version =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        cluster.create(&json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "trials.example.org" },
            "spec": {
                "group": "example.org",
                "names": { "kind": "Trial", "plural": "trials" },
                "scope": "Namespaced",
                "versions": [version],
            },
        }))?;
        let trials = "/apis/example.org/v1/namespaces/default/trials";
        cluster.await_condition("trials to be served", |cluster| Ok(cluster.get(trials).is_ok()))?;
        cluster.create(&json!({
            "apiVersion": "example.org/v1",
            "kind": "Trial",
            "metadata": { "name": "first" },
            "spec": { "ipus": { "16": "pod64" } },
        }))?;
        let trials = cluster.get(trials)?;
        ensure!(trials["items"][0]["spec"]["ipus"]["16"] == "pod64", "{trials}");
        Ok(())
    })
}

#[test]
fn k8s_pods_run_on_each_node_and_reach_each_other_and_the_api() -> Result<()> {
    Settings::nodes(2).image(Image::OpenMpi).run(|cluster| {
        cluster.create_namespace("trial")?;
        let create = |cluster: &Cluster, mut pod: Value| {
            pod["metadata"]["namespace"] = "trial".into();
            cluster.create(&pod)
        };
        create(cluster, pod("listener", "node-1", Image::Busybox, "echo from $(hostname) | nc -l -p 1000"))?;
        cluster.await_pod("trial", "listener", "Running")?;
        let listener = cluster.get("/api/v1/namespaces/trial/pods/listener")?;
        let address = listener["status"]["podIP"].as_str().unwrap_or_default();
        let caller = format!("until nc {address} 1000; do :; done");
        create(cluster, pod("caller", "node-2", Image::Busybox, &caller))?;
        let api = "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/version";
        let client = format!("wget -q -O - --no-check-certificate {api}; cat /etc/resolv.conf");
        create(cluster, pod("client", "node-1", Image::Busybox, &client))?;
        let mpirun = "mpirun --allow-run-as-root -n 2 --oversubscribe hostname";
        create(cluster, pod("mpi", "node-2", Image::OpenMpi, mpirun))?;
        for name in ["listener", "caller", "client", "mpi"] {
            cluster.await_pod("trial", name, "Succeeded")?;
        }
        let said = |name: &str| cluster.kubectl(&["logs", "--namespace=trial", name]);
        ensure!(said("caller")? == "from listener\n", "{}", said("caller")?);
        let client = said("client")?;
        ensure!(client.contains("v1.20.2") && !client.contains("nameserver"), "{client}");
        ensure!(said("mpi")? == "mpi\nmpi\n", "{}", said("mpi")?);
        Ok(())
    })
}

#[test]
fn k8s_lost_node_is_noticed_and_returns() -> Result<()> {
    Settings::nodes(1).run(|cluster| {
        cluster.create(&pod("waits", "node-1", Image::Busybox, "sleep infinity"))?;
        cluster.await_pod("default", "waits", "Running")?;
        cluster.kill_kubelet(1)?;
        cluster.await_node(1, false)?;
        cluster.return_node(1)?;
        let status = cluster.get("/api/v1/namespaces/default/pods/waits/status")?;
        let container = &status["status"]["containerStatuses"][0];
        ensure!(
            container["state"]["running"].is_object() && container["restartCount"] == 0,
            "the Pod runs on without a kubelet: {container}"
        );
        cluster.kill_node(1)?;
        cluster.await_node(1, false)?;
        cluster.return_node(1)?;
        // A container that died with its node has failed.
        cluster.await_pod("default", "waits", "Failed")
    })
}

#[test]
fn k8s_down_leaves_nothing() -> Result<()> {
    let settings = || SETTINGS.map(|name| fs::read_to_string(Path::new("/proc/sys").join(name)).ok());
    let before = settings();
    let mut left = None;
    Settings::nodes(1).run(|cluster| {
        cluster.create(&pod("waits", "node-1", Image::Busybox, "sleep infinity"))?;
        cluster.await_pod("default", "waits", "Running")?;
        ensure!(settings() == before, "{:?} and not {before:?}", settings());
        let folder = cluster.kubeconfig().parent().unwrap().to_owned();
        let traces = traces(cluster.name(), &folder);
        ensure!(traces.len() > 10, "they would be found: {traces:?}");
        left = Some((cluster.name().to_owned(), folder));
        Ok(())
    })?;
    let Some((name, folder)) = left else { return Ok(()) };
    ensure!(traces(&name, &folder).is_empty(), "{:?}", traces(&name, &folder));
    ensure!(settings() == before, "{:?} and not {before:?}", settings());
    Ok(())
}

/// All that this machine shows of a cluster: control groups, links, mounts, processes, its folder.
fn traces(name: &str, folder: &Path) -> Vec<String> {
    let entries = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>()
    };
    let of_cluster = |path: &String| path.contains(name);
    let mut traces: Vec<_> = entries("/sys/class/net").into_iter().filter(of_cluster).collect();
    for hierarchy in entries("/sys/fs/cgroup") {
        traces.extend(entries(&hierarchy).into_iter().filter(of_cluster));
    }
    let folder = folder.display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    traces.extend(mounts.lines().filter(|mount| mount.contains(&folder)).map(str::to_owned));
    for process in entries("/proc") {
        let words = fs::read(format!("{process}/cmdline")).unwrap_or_default();
        let groups = fs::read_to_string(format!("{process}/cgroup")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        traces.extend((words.contains(&folder) || groups.contains(name)).then_some(words));
    }
    traces.extend(Path::new(&folder).exists().then_some(folder));
    traces
}
