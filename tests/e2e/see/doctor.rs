//! What `svipu doctor` finds on the host of a real cluster. Its unit tests have each way to be wrong.

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, wait_until};
use vipu_doctor::{Examination, Host, Level, examine};
use vipu_status::{Contact, Status, file_names};

use crate::{LIMIT, quick};

/// Examines this machine, on which slurmctld and all nodes of the cluster run under the name localhost.
fn examined(cluster: &Cluster) -> Examination {
    examine(&Host {
        root: "/".into(),
        name: "localhost".into(),
        now: std::time::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_secs().cast_signed()),
        slurm_conf: Some(cluster.layout().conf("slurm.conf")),
        status: None,
        sacctmgr: "sacctmgr".into(),
        user_id: Box::new(|name| Some(Account::named(name).ok()?.uid)),
        in_group: vipu_doctor::in_group,
    })
}

/// The findings, when the status document says that the controller answers.
fn findings(cluster: &Cluster) -> Result<Examination> {
    let file = cluster.layout().state().join(file_names::WHOLE);
    wait_until("the controller in the status document", LIMIT, || {
        let Ok(text) = std::fs::read(&file) else { return Ok(false) };
        let pods = Status::parse(&text)?.models.into_iter().flat_map(|model| model.pods);
        Ok(pods.map(|pod| pod.contact).any(|contact| matches!(contact, Contact::Reached { .. })))
    })?;
    Ok(examined(cluster))
}

#[test]
fn cli_doctor_real_cluster_is_healthy() -> Result<()> {
    quick().run(|cluster| {
        let found = findings(cluster)?;
        ensure!(found.findings.is_empty(), "{found:#?}");
        ensure!(found.roles == ["slurmctld host", "node with IPUs"] && found.slurm.is_some(), "{found:?}");
        Ok(())
    })
}

#[test]
fn cli_doctor_real_cluster_sends_its_files() -> Result<()> {
    quick().slurm_conf("SlurmctldParameters=enable_configless").run(|cluster| {
        let found = findings(cluster)?;
        ensure!(found.findings.is_empty(), "{found:#?}");
        // A line behind an include works on this host, but is not sent.
        let conf = |name| cluster.layout().conf(name);
        std::fs::rename(conf("plugstack.conf"), conf("ipuof-plugstack.conf"))?;
        std::fs::write(conf("plugstack.conf"), "include ipuof-plugstack.conf\n")?;
        let found = examined(cluster);
        ensure!(found.findings.len() == 1 && found.exit() == 2, "{found:#?}");
        ensure!(found.findings[0].what.contains("does not send that file to nodes"), "{found:#?}");
        Ok(())
    })
}

#[test]
fn cli_doctor_real_cluster_is_wrong_in_five_ways() -> Result<()> {
    let settings = quick()
        .slurm_conf("PropagateResourceLimitsExcept=NOFILE")
        .node_gres(1, "vipu:pod64:64")
        .without_spank_line()
        .vipu_conf("IpusPerSlurmPartition=debgu:16")
        .conf_file("ipum.allocs", "ipu-pod64-001:ag1\n");
    settings.expect_log("lacks no_consume").expect_log("does not load spank_ipuof.so").run(|cluster| {
        let found = findings(cluster)?;
        let parts = [
            (Level::Error, "lacks no_consume"),
            (Level::Error, "does not load spank_ipuof.so"),
            (Level::Warning, "limit on locked memory"),
            (Level::Warning, "limits debgu, which is no Slurm partition"),
            (Level::Hint, "maps hosts to IPU-Machines"),
        ];
        ensure!(found.findings.len() == parts.len() && found.exit() == 2, "{found:#?}");
        for (finding, (level, part)) in found.findings.iter().zip(parts) {
            ensure!(finding.level == level && finding.what.contains(part), "{part}: {found:#?}");
        }
        Ok(())
    })
}
