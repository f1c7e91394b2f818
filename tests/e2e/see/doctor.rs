//! What `svipu doctor` finds on the host of a real cluster. Its unit tests have each way to be wrong.

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, wait_until};
use vipu_doctor::{Examination, Host, Level, examine};
use vipu_status::Contact;

use super::document;
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
        groups: vipu_doctor::groups,
    })
}

/// The findings, when the status document says that the controller answers.
fn findings(cluster: &Cluster) -> Result<Examination> {
    wait_until("the controller in the status document", LIMIT, || {
        let pods =
            document(cluster)?.into_iter().flat_map(|status| status.models).flat_map(|model| model.pods);
        Ok(pods.map(|pod| pod.contact).any(|contact| matches!(contact, Contact::Reached { .. })))
    })?;
    Ok(examined(cluster))
}

#[test]
fn cli_doctor_real_cluster_is_healthy_and_may_send_its_files() -> Result<()> {
    quick().run(|cluster| {
        let found = findings(cluster)?;
        ensure!(found.findings.is_empty(), "{found:#?}");
        ensure!(found.roles == ["slurmctld host", "node with IPUs"] && found.slurm.is_some(), "{found:?}");
        let conf = |name| cluster.layout().conf(name);
        let slurm_conf = std::fs::read_to_string(conf("slurm.conf"))?;
        std::fs::write(conf("slurm.conf"), slurm_conf + "SlurmctldParameters=enable_configless\n")?;
        let found = examined(cluster);
        ensure!(found.findings.is_empty(), "{found:#?}");
        // A line behind an include works on this host, but is not sent.
        std::fs::rename(conf("plugstack.conf"), conf("ipuof-plugstack.conf"))?;
        std::fs::write(conf("plugstack.conf"), "include ipuof-plugstack.conf\n")?;
        let found = examined(cluster);
        ensure!(found.findings.len() == 1 && found.findings[0].level == Level::Error, "{found:#?}");
        ensure!(found.findings[0].what.contains("does not send that file to nodes"), "{found:#?}");
        Ok(())
    })
}
