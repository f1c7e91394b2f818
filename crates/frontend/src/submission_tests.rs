//! Requests of new jobs by the mode of their model: what they become, and the texts of refusals.

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;

use vipu_conf::Settings;
use vipu_types::{GresType, IpuCount, ModelName, Words};

use super::*;
use crate::cabling::Cabling;
use crate::models::Model;
use crate::slurm::SlurmPartitions;
use crate::status::tests::Nothing;

/// A batch job, as its submit message describes it.
#[derive(Default)]
struct Description {
    tres: String,
    /// The options of slurm-vipu, as `ipus=4`.
    options: Vec<String>,
    /// The number that `-N` gives.
    nodes: Option<u32>,
    whole_nodes: bool,
}

impl JobDescription for Description {
    fn tres_per_node(&self) -> Option<String> {
        Some(self.tres.clone())
    }
    fn other_tres(&self) -> [(&'static str, Option<String>); 3] {
        ["per job", "per task", "per socket"].map(|what| (what, None))
    }
    fn slurm_partitions(&self) -> Option<String> {
        None
    }
    fn default_slurm_partition(&self) -> Option<String> {
        None
    }
    fn qos(&self) -> Option<String> {
        None
    }
    fn licenses(&self) -> Option<String> {
        None
    }
    fn site_licenses(&self) -> Option<String> {
        None
    }
    fn names_reservation(&self) -> bool {
        false
    }
    fn asked_nodes(&self) -> RangeInclusive<u32> {
        self.nodes.map_or(1..=u32::MAX, |nodes| nodes..=nodes)
    }
    fn is_batch(&self) -> bool {
        true
    }
    fn mentions_vipu(&self) -> bool {
        self.tres.contains("vipu")
    }
    fn options(&self, beginning: &str) -> Vec<String> {
        self.options.iter().map(|option| format!("{beginning}{option}")).collect()
    }
    fn clean_script_environment(&mut self, _: &str) {}
    fn add_gres(&mut self, element: &str) {
        self.tres = element.to_owned();
    }
    fn set_tres_per_node(&mut self, tres: &str) {
        self.tres = tres.to_owned();
    }
    fn set_licenses(&mut self, _: &str) {}
    fn set_nodes(&mut self, count: u32) -> Result<(), Words> {
        self.nodes = Some(count);
        Ok(())
    }
    fn take_whole_nodes(&mut self) {
        self.whole_nodes = true;
    }
    fn all_slurm_partitions(&self) -> Option<impl SlurmPartitions> {
        None::<Unread>
    }
}

/// Slurm partitions that cannot be read.
struct Unread;

impl SlurmPartitions for Unread {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
    fn have(&self, _: &str, _: Option<&GresType>) -> Option<bool> {
        None
    }
}

/// A model of 64 IPUs with these lines in its file, whose nodes have these IPUs.
fn model(lines: &str, hosts: &[(u32, Range<u32>)]) -> Model {
    let settings = Settings::parse(&format!("ApiHost=x IpuofDir=/x {lines}"), Path::new("vipu.conf"));
    let cabling = (!hosts.is_empty()).then(|| Arc::new(Cabling::Hosts(hosts.iter().cloned().collect())));
    Model { largest: 64, sizes: None, settings: Some(settings.unwrap()), cabling }
}

/// The answer to a job with this GRES list, number of nodes (`-N 2`) and options (`ipus=4`): the list and the number of
/// nodes that the job then has, with the notice if there is one, or the refusal.
fn answer(frontend: &Frontend, request: &str) -> String {
    let mut job = Description::default();
    let mut words = request.split(' ');
    while let Some(word) = words.next() {
        match word {
            "-N" => job.nodes = words.next().map(|nodes| nodes.parse().unwrap()),
            _ if word.starts_with("vipu") => job.tres = word.to_owned(),
            _ => job.options.push(word.to_owned()),
        }
    }
    submitted(frontend, &mut job).map_or_else(String::from, |notice| {
        let nodes = job.nodes.map(|nodes| format!(" -N {nodes}")).unwrap_or_default();
        let exclusive = if job.whole_nodes { " --exclusive" } else { "" };
        let notice = notice.map(|notice| format!("; {notice}")).unwrap_or_default();
        format!("{}{nodes}{exclusive}{notice}", job.tres)
    })
}

/// Submits jobs for the model of this name, and compares the answers.
fn plays(name: &str, model: Model, jobs: &[(&'static str, &'static str)]) {
    let (models, jobs) = (Models([(ModelName::new(name).unwrap(), model)].into()), jobs.to_vec());
    // The locks are those of shuttle, which needs a run of its own.
    let play = move || {
        let frontend = Frontend::new(Box::new(Nothing));
        frontend.set_models(models.clone());
        for (request, expected) in &jobs {
            assert_eq!(answer(&frontend, request), *expected, "{request}");
        }
    };
    shuttle::check_random(play, 1);
}

#[test]
fn mode_pool_refuses_sizes_that_do_not_exist() {
    const POOL: &str = "Mode=pool Pool=16x2,4x4";
    let no_partition = "vipu: there is no partition for 8 IPUs: the pool of pod64 has partitions of 4 or 16 IPUs; valid: \
                        --gres=vipu:pod64:4 or --gres=vipu:pod64:16";
    let jobs = &[
        ("vipu:pod64:4", "vipu:pod64:4"),
        ("vipu:pod64:8", no_partition),
        (
            "ipus=4 ipu_gcds=2",
            "vipu: pod64 has a pool of partitions, whose shapes are as they are: leave out the options for the shape \
             (--ipus and --ipu-model stay)",
        ),
    ];
    plays("pod64", model(POOL, &[]), jobs);
    let rounded = "vipu:pod64:16; vipu: 8 IPUs are rounded up to 16, as partitions have 4 or 16 IPUs";
    plays("pod64", model(&format!("{POOL} SizePolicy=round-up"), &[]), &[("vipu:8", rounded)]);
}

#[test]
fn mode_pool_numeric_requests_are_refused_with_the_valid_ones() {
    let sizes = [4, 16].map(|size| IpuCount::new(size).unwrap()).into();
    let sized = Model { sizes: Some(sizes), ..model("Mode=pool Pool=p4_*,p16_*", &[]) };
    let no_partition = "vipu: there is no partition for 8 IPUs: the pool of vipu has partitions of 4 or 16 IPUs; valid: \
                        --gres=vipu:4:1 or --gres=vipu:16:1";
    let jobs = &[("ipus=16", "vipu:16:1"), ("vipu:8:1", no_partition), ("ipus=8", no_partition)];
    plays("vipu", sized, jobs);
}

#[test]
fn mode_shared_refuses_a_shape() {
    let jobs = &[
        ("ipus=4", "vipu:pod64:4"),
        (
            "ipus=4 ipu_gcds=2",
            "vipu: all jobs of pod64 share partition all, whose shape is as it is: leave out the options for the shape \
             (--ipus and --ipu-model stay)",
        ),
    ];
    plays("pod64", model("Mode=shared SharedPartition=all Delivery=api", &[]), jobs);
}

/// A job gets whole nodes, as many as have its IPUs.
#[test]
fn mode_host_requests_that_fit_no_hosts_are_refused() {
    const HOSTS: &str = "Mode=host HostMap=hosts.map Cluster=pod64";
    // The IPUs of the second and the third node are exchanged.
    let hosts = [(1, 0..16), (2, 32..48), (3, 16..32), (4, 48..64)];
    let not_all = "vipu: jobs get all 16 IPUs of each of their nodes; valid: -N 1 --ipus=16 or -N 2 --ipus=32 or -N 4 \
                   --ipus=64";
    let jobs = &[
        ("vipu:pod64", "vipu:pod64:16 -N 1 --exclusive"),
        ("vipu:pod64 -N 4", "vipu:pod64:64 -N 4 --exclusive"),
        ("vipu:pod64:32", "vipu:pod64:32 -N 2 --exclusive"),
        ("vipu:pod64:4", not_all),
        ("vipu:pod64 -N 3", not_all),
        (
            "vipu:pod64:32 -N 4",
            "vipu: 32 IPUs of pod64 are those of 2 nodes, which -N excludes; valid: -N 1 --ipus=16 or -N 2 --ipus=32 or \
             -N 4 --ipus=64",
        ),
    ];
    plays("pod64", model(HOSTS, &hosts), jobs);
    let rounded = "vipu:pod64:32 -N 2 --exclusive; vipu: 20 IPUs are rounded up to 32, as partitions have 16, 32 or 64 IPUs";
    plays("pod64", model(&format!("{HOSTS} SizePolicy=round-up"), &hosts), &[("vipu:pod64:20", rounded)]);
}
