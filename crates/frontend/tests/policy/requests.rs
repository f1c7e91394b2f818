//! Requests of new jobs by the mode of their model: what they become, and the texts of refusals.

use frontend::{Frontend, Model, changed, submitted};
use vipu_types::IpuCount;

use crate::cluster::{ALL, Cluster};
use crate::fake_slurm::{FakeJob, FakeSlurm};
use crate::orders::Orders;
use crate::{HOSTS, hosts, model, models};

/// The answer to a job with this GRES list, number of nodes (`-N 2`), options (`ipus=4`) and number in a heterogeneous
/// job (`component 1`): the list and the number of nodes that the job then has, with the notice if there is one, or the
/// refusal.
fn answer(frontend: &Frontend, request: &str) -> String {
    let mut job = FakeJob { is_batch: true, ..FakeJob::default() };
    let mut words = request.split(' ');
    while let Some(word) = words.next() {
        match word {
            "-N" => {
                let nodes = words.next().unwrap().parse().unwrap();
                job.asked_nodes = Some(nodes..=nodes);
            }
            "component" => job.component = words.next().unwrap().parse().ok(),
            _ if word.starts_with("vipu") => job = job.with_tres(word),
            _ => job.options.push(word.to_owned()),
        }
    }
    let slurm = FakeSlurm::default();
    let mut job = slurm.enter(job);
    let notice = match submitted(frontend, &mut job) {
        Ok(notice) => notice.map(|notice| format!("; {notice}")).unwrap_or_default(),
        Err(refusal) => return refusal.into(),
    };
    job.see(|job| {
        let nodes =
            job.asked_nodes.as_ref().map(|nodes| format!(" -N {}", nodes.start())).unwrap_or_default();
        let exclusive = if job.takes_whole_nodes { " --exclusive" } else { "" };
        let tres = job.tres_per_node.as_deref().unwrap_or_default();
        format!("{}{nodes}{exclusive}{notice}", tres.trim_start_matches("gres:"))
    })
}

/// Submits jobs for the model of this name, and compares the answers.
fn plays(name: &str, model: Model, jobs: &[(&str, &str)]) {
    let frontend = Orders::default().front_end(models(name, model));
    for (request, expected) in jobs {
        assert_eq!(answer(&frontend, request), *expected, "{request}");
    }
}

#[test]
fn user_components_that_no_pod_holds_together_are_refused() {
    let too_many = "vipu: the components ask for 80 IPUs of pod64 together, which has 64";
    let jobs = &[
        ("vipu:pod64:64 component 0", "vipu:pod64:64"),
        ("vipu:pod64:16 component 1", too_many),
        ("vipu:pod64:32 component 0", "vipu:pod64:32"),
        ("vipu:pod64:32 component 1", "vipu:pod64:32"),
        ("vipu:pod64:16 component 2", too_many),
        ("vipu:pod64:64", "vipu:pod64:64"),
    ];
    plays("pod64", model("ApiHost=x", None), jobs);
}

/// As for any other job of sbatch. Only the first component has the script.
#[test]
fn user_components_of_sbatch_get_no_notice_that_ipus_are_used() {
    let cluster = Cluster::new("ApiHost=a", None);
    let all = cluster.submit(":64", 1, &ALL);
    cluster.start(&all).unwrap();
    let slurm = FakeSlurm::default();
    let notice = |is_batch, component| {
        let job = FakeJob { is_batch, component: Some(component), ..FakeJob::default() };
        submitted(&cluster.frontend, &mut slurm.enter(job.with_tres("vipu:pod64:8"))).unwrap()
    };
    assert_eq!([notice(true, 0), notice(false, 1)], [None, None]);
    assert!([notice(false, 0), notice(false, 1)].iter().all(Option::is_some), "srun and salloc");
}

#[test]
fn mode_pool_refuses_sizes_that_do_not_exist() {
    const POOL: &str = "ApiHost=x Mode=pool Pool=16x2,4x4";
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
    plays("pod64", model(POOL, None), jobs);
    let rounded = "vipu:pod64:16; vipu: 8 IPUs are rounded up to 16, as partitions have 4 or 16 IPUs";
    plays("pod64", model(&format!("{POOL} SizePolicy=round-up"), None), &[("vipu:8", rounded)]);
}

#[test]
fn mode_pool_numeric_requests_are_refused_with_the_valid_ones() {
    let sizes = [4, 16].map(|size| IpuCount::new(size).unwrap()).into();
    let sized = Model { sizes: Some(sizes), ..model("ApiHost=x Mode=pool Pool=p4_*,p16_*", None) };
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
    plays("pod64", model("ApiHost=x Mode=shared SharedPartition=all Delivery=api", None), jobs);
}

/// A job gets whole nodes, as many as have its IPUs.
#[test]
fn mode_host_requests_that_fit_no_hosts_are_refused() {
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
    plays("pod64", model(HOSTS, hosts()), jobs);
    let rounded = "vipu:pod64:32 -N 2 --exclusive; vipu: 20 IPUs are rounded up to 32, as partitions have 16, 32 or 64 IPUs";
    plays("pod64", model(&format!("{HOSTS} SizePolicy=round-up"), hosts()), &[("vipu:pod64:20", rounded)]);
}

/// A change without a number of nodes keeps it, and the IPUs of these nodes.
#[test]
fn mode_host_change_keeps_the_number_of_nodes() {
    let frontend = Orders::default().front_end(models("pod64", model(HOSTS, hosts())));
    let (held, message) = (FakeSlurm::default(), FakeSlurm::default());
    let job = FakeJob { is_pending: true, takes_whole_nodes: true, ..FakeJob::default() };
    let job = held.enter(job.with_tres("gres:vipu:pod64:32"));
    let mut change = message.enter(FakeJob::default().with_tres("gres:vipu:pod64"));
    assert_eq!(changed(&frontend, &mut change, job), Ok(None));
    change.see(|job| {
        assert_eq!(job.tres_per_node.as_deref(), Some("gres:vipu:pod64:32"));
        assert_eq!(job.asked_nodes, Some(2..=2));
    });
}
