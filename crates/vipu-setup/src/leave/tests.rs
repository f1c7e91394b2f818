//! What the check lists of files.

use std::fs;

use tempfile::TempDir;

use super::site::Site;
use super::{conf_lines, files};

/// A site with these lines in slurm.conf, and these files beside it.
struct Example {
    folder: TempDir,
    site: Site,
}

impl Example {
    fn new(lines: &str, beside: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        let path = folder.path().join("slurm.conf");
        let always = format!("ClusterName=Lab\nStateSaveLocation={here}/state\n");
        // Otherwise the socket of a slurmctld of this machine would count.
        let pid_file = format!("SlurmctldPidFile={here}/slurmctld.pid\n");
        fs::write(&path, always + &lines.replace("HERE", &here) + &pid_file).unwrap();
        for (name, text) in beside {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("HERE", &here)).unwrap();
        }
        let site = Site::read(Some(&path)).unwrap();
        Self { folder, site }
    }

    /// What is left, without the path of the folder.
    fn lines(&self) -> Vec<String> {
        conf_lines::left(&self.site, &[]).iter().map(|left| self.short(&left.to_string())).collect()
    }

    fn files(&self) -> Vec<String> {
        files::left(&self.site).iter().map(|left| self.short(&left.to_string())).collect()
    }

    fn note(&self) -> Option<String> {
        conf_lines::health_check_note(&self.site).map(|note| self.short(&note))
    }

    fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

const VIPU_CONF: &str = "ApiHost=vipu:8090\nIpuofDir=HERE/ipuof\n";

/// The script of the page, as it is there.
fn script() -> String {
    let page = include_str!("../../../../docs/maintenance.md");
    let script = page.split("```sh\n").nth(1).and_then(|text| text.split("```").next()).unwrap();
    assert!(script.contains("/.vipu_CLUSTER"), "{script}");
    script.replace("CLUSTER", "lab")
}

#[test]
fn pkg_leave_lists_weights_before_the_tres() {
    let fix = "before AccountingStorageTRES, or together with it: slurmctld does not start otherwise";
    let lines = "\
AccountingStorageTRES=gres/gpu,gres/vipu,gres/vipu:pod64,license/vipu,license/vipu_pod64,license/vipus
PriorityWeightTRES=CPU=1000,GRES/vipu=2000,license/vipus=1
PartitionName=DEFAULT TRESBillingWeights=\"cpu=0, gres/vipu:pod64=1.0,license/vipu_pod64=0.5\"
PartitionName=a Nodes=n1
PartitionName=b Nodes=n1 TRESBillingWeights=cpu=1,gres/gpu:vipu=1
PartitionName=c Nodes=n1 TRESBillingWeights=license/vipu=1
";
    let site = Example::new(lines, &[]);
    let tres = ["gres/vipu", "gres/vipu:pod64", "license/vipu", "license/vipu_pod64"];
    let mut expected = vec![
        format!("slurm.conf:4: PriorityWeightTRES has GRES/vipu=2000; remove GRES/vipu=2000 {fix}"),
        format!(
            "slurm.conf:5: TRESBillingWeights has gres/vipu:pod64=1.0,license/vipu_pod64=0.5; \
             remove gres/vipu:pod64=1.0,license/vipu_pod64=0.5 {fix}"
        ),
        format!("slurm.conf:8: TRESBillingWeights has license/vipu=1; remove license/vipu=1 {fix}"),
    ];
    expected
        .extend(tres.map(|word| format!("slurm.conf:3: AccountingStorageTRES has {word}; remove {word}")));
    assert_eq!(site.lines(), expected);
}

#[test]
fn pkg_leave_lists_licences() {
    let site = Example::new("Licenses=matlab:10;vipu:64,vipu_pod16:16,vipus:1\n", &[]);
    let words = "slurm.conf:3: Licenses has vipu:64,vipu_pod16:16; \
                 remove vipu:64,vipu_pod16:16 when no job and no reservation has such a licence";
    assert_eq!(site.lines(), [words]);
    assert!(Example::new("Licenses=matlab:10,vipus:1\n", &[]).lines().is_empty());
}

#[test]
fn pkg_leave_lists_the_files_of_models() {
    let others = [("gres.conf", "Name=gpu\n"), ("plugstack.conf", ""), ("cgroup.conf", "")];
    let ours = [("pod64.conf", VIPU_CONF), ("vipu.conf", VIPU_CONF)];
    let words = |name: &str| format!("{name}: no other software reads it; remove it");
    let site = Example::new("", &[&others[..], &ours].concat());
    assert_eq!(site.files(), [words("pod64.conf"), words("vipu.conf")]);
    let site = Example::new("", &[("vipu.conf", "# nothing yet\n")]);
    assert_eq!(site.files(), [words("vipu.conf")]);
}

#[test]
fn pkg_leave_lists_the_service_check_of_the_page() {
    let conf = "HealthCheckProgram=HERE/node.sh\n";
    let beside = [("node.sh", &*script()), ("vipu.conf", VIPU_CONF), ("ipuof/.vipu_lab", "")];
    let site = Example::new(conf, &beside);
    let words = "slurm.conf:3: HealthCheckProgram=node.sh looks for the mark .vipu_lab in IpuofDir; take this out: \
                 without the mark, which slurm-vipu-setup leave --clean removes, the script drains all nodes";
    assert_eq!(site.lines(), [words]);
    assert_eq!(site.note(), None);
    // The script is on nodes only.
    let site = Example::new("HealthCheckProgram=HERE/nodes/check-ipus.sh\n", &beside);
    assert_eq!(site.lines(), [words.replace("node.sh", "nodes/check-ipus.sh")]);
}

#[test]
fn pkg_leave_notes_a_check_that_it_does_not_know() {
    let conf = "HealthCheckProgram=HERE/nhc\n";
    let beside = |text| [("nhc", text), ("vipu.conf", VIPU_CONF), ("ipuof/.vipu_lab", "")];
    let words = "slurm.conf:3: note: if HealthCheckProgram=nhc, or a file that it reads, looks for ipuof/.vipu_lab, \
                 take this out before slurm-vipu-setup leave --clean: that removes the mark, and nodes drain";
    for text in ["exec /usr/sbin/nhc\n", "# not for .vipu_lab\n"] {
        let site = Example::new(conf, &beside(text));
        assert_eq!((site.lines(), site.note().as_deref()), (vec![], Some(words)), "{text}");
        let to_change = conf_lines::to_change(&site.site, &[]);
        assert!(to_change.iter().any(|line| site.short(line) == format!("  {words}")), "{to_change:?}");
        fs::remove_file(site.folder.path().join("ipuof/.vipu_lab")).unwrap();
        assert_eq!(site.note(), None, "no mark, nothing to miss");
    }
    let site = Example::new("", &beside(""));
    assert_eq!(site.note(), None);
}
