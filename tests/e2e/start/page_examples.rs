//! The examples of the pages for users, which run exactly as they are printed.

mod service;
mod training;

use std::fs;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, Settings, programs, wait_until, write_program};

use crate::jobs::{ended, let_go, running};
use crate::{LIMIT, quick};

/// Replaces the programs that the examples start: notes its arguments and its IPUs.
const PROGRAM: &str = r#"#!/bin/bash
said="${0##*/} ${*//$HOME/\~}"
ipus="no IPUs"
if [ "$SLURM_VIPU_IPUS" ]; then
    [ -r "$IPUOF_CONFIG_PATH" ] || { echo no IPUoF file; exit 1; }
    said=${said//"$SLURM_VIPU_POPRUN"/"<$SLURM_VIPU_GCDS on $SLURM_VIPU_HOSTS>"}
    ipus="$SLURM_VIPU_IPUS IPUs, GCD $SLURM_VIPU_GCD of $SLURM_VIPU_GCDS"
fi
echo "$said ($ipus)" > "$(mktemp "${0%/*}/../ran/XXXXXX")"
"#;

/// An example: its heading, its scripts and the lines to type.
struct Example {
    heading: &'static str,
    scripts: Vec<(&'static str, &'static str)>,
    typed: Vec<&'static str>,
}

impl Example {
    /// The examples of a page: its sections with lines to type.
    fn all(page: &'static str) -> Result<Vec<Self>> {
        let sections = page.split("\n##").skip(1).filter(|section| section.contains("```console\n"));
        sections.map(Self::parse).collect()
    }

    fn parse(text: &'static str) -> Result<Self> {
        let mut blocks = text.split("```");
        let heading =
            blocks.next().and_then(|text| text.lines().next()).context("an example without a heading")?;
        let heading = heading.trim_start_matches('#').trim();
        let (mut scripts, mut typed) = (Vec::new(), Vec::new());
        for block in blocks {
            if let Some(script) = block.strip_prefix("sh\n") {
                let name = script.lines().nth(1).and_then(|line| line.strip_prefix("# "));
                scripts.push((name.with_context(|| format!("a script without a name: {script}"))?, script));
            } else if let Some(console) = block.strip_prefix("console\n") {
                typed.extend(console.lines().filter_map(|line| line.strip_prefix("$ ")));
            }
        }
        Ok(Self { heading, scripts, typed })
    }

    /// Types the lines, and returns what they print. The lines after a salloc go to its shell.
    fn play(&self, cluster: &Cluster) -> Result<String> {
        let home = cluster.layout().jobs();
        for (name, script) in &self.scripts {
            fs::write(home.join(name), script)?;
        }
        let (bin, path) = (home.join("bin"), std::env::var("PATH")?);
        fs::create_dir_all(home.join("ran"))?;
        let (first, rest) = self.typed.split_first().context("nothing is typed")?;
        let lines = if first.starts_with("salloc") {
            format!("{first} <<'END'\n{}\nEND", rest.join("\n"))
        } else {
            self.typed.join("\n")
        };
        let shell = cluster.command("bash").args(&["-ec", &lines]);
        let shell = shell.env("PATH", &format!("{}:{path}", bin.display()));
        Ok(shell.success()?.stdout)
    }
}

/// Puts programs before those of the machine, for the examples and their jobs.
fn install(cluster: &Cluster, programs: &[(&str, &str)]) -> Result<()> {
    let bin = cluster.layout().jobs().join("bin");
    programs.iter().try_for_each(|(name, text)| write_program(&bin.join(name), text))
}

/// Returns the notes of the programs, once all jobs have completed.
fn outcome(cluster: &Cluster) -> Result<Vec<String>> {
    for job in cluster.jobs()? {
        ended(cluster, job.id, "COMPLETED")?;
    }
    let ran = cluster.layout().jobs().join("ran");
    let notes = fs::read_dir(&ran)?.map(|note| Ok(fs::read_to_string(note?.path())?.trim().to_owned()));
    let mut notes: Vec<_> = notes.collect::<Result<_>>()?;
    notes.sort_unstable();
    fs::remove_dir_all(ran)?;
    Ok(notes)
}

/// svipu, with the name of a network: no network leads to the nodes of the testbed.
fn svipu() -> Result<String> {
    let program = programs::find("svipu")?;
    let program = program.display();
    Ok(format!("#!/bin/bash\n[[ $* != *--mca ]] || set -- \"$@\" --interface=eth0\nexec {program} \"$@\"\n"))
}

fn site() -> Settings {
    quick().nodes(2).slurm_conf("SchedulerParameters=bf_interval=1")
}

/// Plays the examples of a page, and compares the notes of their programs.
fn run(page: &'static str, wanted: &[&[&str]]) -> Result<()> {
    site().run(|cluster| {
        let programs = ["python3", "gc-info", "poprun", "mpirun", "jupyter", "batchspawner-singleuser"];
        install(cluster, &programs.map(|name| (name, PROGRAM)))?;
        install(cluster, &[("hostname", "#!/bin/bash\necho node\n"), ("svipu", &svipu()?)])?;
        let examples = Example::all(page)?;
        ensure!(examples.len() == wanted.len(), "{} examples", examples.len());
        for (example, notes) in examples.iter().zip(wanted) {
            let heading = example.heading;
            example.play(cluster).context(heading)?;
            let ran = outcome(cluster).context(heading)?;
            ensure!(ran == *notes, "{heading}: {ran:#?}");
        }
        Ok(())
    })
}

/// One IPU, sixteen, an array, two nodes, a session, Jupyter.
const SIX: [&[&str]; 6] = [
    &["gc-info -l (1 IPUs, GCD 0 of 1)", "python3 train.py (1 IPUs, GCD 0 of 1)"],
    &["python3 train.py (16 IPUs, GCD 0 of 1)"],
    &[
        "python3 train.py --fold=0 (2 IPUs, GCD 0 of 1)",
        "python3 train.py --fold=1 (2 IPUs, GCD 0 of 1)",
        "python3 train.py --fold=2 (2 IPUs, GCD 0 of 1)",
        "python3 train.py --fold=3 (2 IPUs, GCD 0 of 1)",
    ],
    &["python3 train.py (16 IPUs, GCD 0 of 2)", "python3 train.py (16 IPUs, GCD 1 of 2)"],
    &["python3 train.py (4 IPUs, GCD 0 of 1)"],
    &["jupyter lab --no-browser --ip=node (4 IPUs, GCD 0 of 1)"],
];

/// The lines that a user types on a login host about a job that runs.
const LOOKS: &str = r#"
sinfo -o "%N %G" | grep vipu:pod64
squeue -o "%i %t %r" | grep '42 R'
squeue --start
squeue --me | grep 42
squeue -O JobID,system_comment:90 | grep 'partition slurm_42'
svipu --me partitions | grep slurm_42
srun --jobid=42 --overlap bash -c 'cat "$IPUOF_CONFIG_PATH"' | grep devices
eval "$(svipu env 42)"
grep devices "$IPUOF_CONFIG_PATH"
"#;

#[test]
fn user_looks_at_a_job_that_runs() -> Result<()> {
    site().slurm_conf("FirstJobId=42").run(|cluster| {
        let job = running(cluster, 16, &[])?;
        ensure!(job == JobId(42), "job {job}");
        install(cluster, &[("svipu", &svipu()?)])?;
        let bin = cluster.layout().jobs().join("bin");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH")?);
        let looks = || cluster.command("bash").args(&["-ec", LOOKS]).env("PATH", &path).output();
        // The status document may be some seconds old.
        wait_until("all looks to find the job", LIMIT, || Ok(looks()?.code == 0))
            .with_context(|| format!("{:?}", looks()))?;
        let_go(cluster, job)
    })
}

/// Two programs side by side, and a component without IPUs before one with IPUs, as the page advises.
#[test]
fn user_advice_for_several_programs_works() -> Result<()> {
    site().run(|cluster| {
        let programs = "printf '0 printenv SLURM_VIPU_GCD\\n1 printenv SLURM_VIPU_GCD\\n' > programs.conf
             srun --label --multi-prog programs.conf | sort";
        let two = cluster.sbatch(programs, &["--ipus=16", "--ipu-gcds=2", "--ntasks=2", "--nodes=2"])?;
        ended(cluster, two, "COMPLETED")?;
        ensure!(cluster.job_output(two) == "0: 0\n1: 1\n", "{}", cluster.job_output(two));
        let groups = "srun --het-group=0 sh -c 'echo first $SLURM_VIPU_IPUS'
             srun --het-group=1 sh -c 'echo second $SLURM_VIPU_IPUS'";
        let het = cluster.sbatch(groups, &["--ntasks=1", ":", "--ipus=4"])?;
        ended(cluster, het, "COMPLETED")?;
        ensure!(cluster.job_output(het) == "first\nsecond 4\n", "{}", cluster.job_output(het));
        // Each step ends when it has met the other one.
        let steps = "meet() { srun --exact -n1 -c4 sh -c \"touch $1; until [ -e $2 ]; do sleep 0.1; done; echo met\"; }
             meet left right & meet right left & wait";
        let sides = cluster.sbatch(steps, &["--ipus=4", "--nodes=1", "--ntasks=2", "--cpus-per-task=4"])?;
        ended(cluster, sides, "COMPLETED")?;
        ensure!(cluster.job_output(sides) == "met\nmet\n", "{}", cluster.job_output(sides));
        Ok(())
    })
}

#[test]
fn user_examples_of_the_page_run() -> Result<()> {
    let training: &[&str] = &["python3 train.py (4 IPUs, GCD 0 of 1)"];
    run(include_str!("../../../docs/users.md"), &[&SIX[..], &[training]].concat())
}

/// What an example does, whatever its scripts are called and their comments say.
fn deeds(example: &Example) -> Vec<String> {
    let lines = example.scripts.iter().flat_map(|(_, script)| script.lines());
    let lines = lines.filter(|line| line.starts_with("#SBATCH") || !line.starts_with('#'));
    let nameless = |line: &str| {
        example.scripts.iter().fold(line.to_owned(), |line, (name, _)| line.replace(name, "script"))
    };
    lines.chain(example.typed.iter().copied()).map(nameless).collect()
}

#[test]
fn user_examples_of_the_french_page_are_those_of_the_page() -> Result<()> {
    let page = Example::all(include_str!("../../../docs/users.md"))?;
    let french = Example::all(include_str!("../../../docs/fr/utilisateurs.md"))?;
    ensure!(french.len() == SIX.len(), "{} examples", french.len());
    for (french, example) in french.iter().zip(&page) {
        ensure!(deeds(french) == deeds(example), "{}: {:#?}", french.heading, deeds(french));
    }
    Ok(())
}

#[test]
fn user_examples_of_the_jupyter_page_run() -> Result<()> {
    // In a batch job, in a session, from JupyterHub.
    let wanted: [&[&str]; 3] = [
        &["jupyter lab --no-browser --ip=node --port=20001 (4 IPUs, GCD 0 of 1)"],
        &["jupyter lab --no-browser --ip=node (4 IPUs, GCD 0 of 1)"],
        &["batchspawner-singleuser jupyterhub-singleuser (4 IPUs, GCD 0 of 1)"],
    ];
    run(include_str!("../../../docs/jupyter.md"), &wanted)
}

#[test]
fn user_examples_of_the_pytorch_page_run() -> Result<()> {
    let wanted: [&[&str]; 6] = [
        &["python3 train.py --replicas=4 --ipus-per-replica=2 (8 IPUs, GCD 0 of 1)"],
        &[
            "poprun <2 on ipu-pod64-001> --num-replicas=8 --ipus-per-replica=2 --executable-cache-path=~/ipu-cache \
           python3 train.py (16 IPUs, GCD 0 of 2)",
        ],
        &[
            "mpirun --hostfile hosts --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 python3 prepare.py \
             (16 IPUs, GCD 0 of 2)",
            "poprun <2 on ipu-pod64-001,ipu-pod64-002> --mpi-global-args=--mca oob_tcp_if_include eth0 --mca \
             btl_tcp_if_include eth0 --num-replicas=8 --ipus-per-replica=2 python3 train.py (16 IPUs, GCD 0 of 2)",
        ],
        &["python3 train.py (16 IPUs, GCD 0 of 2)", "python3 train.py (16 IPUs, GCD 1 of 2)"],
        &[
            "python3 train.py --compile-only --replicas=4 --ipus-per-replica=2 (no IPUs)",
            "python3 train.py --replicas=4 --ipus-per-replica=2 (8 IPUs, GCD 0 of 1)",
        ],
        &[
            "python3 train.py --rate=0.003 (2 IPUs, GCD 0 of 1)",
            "python3 train.py --rate=0.01 (2 IPUs, GCD 0 of 1)",
            "python3 train.py --rate=0.03 (2 IPUs, GCD 0 of 1)",
            "python3 train.py --rate=0.1 (2 IPUs, GCD 0 of 1)",
        ],
    ];
    run(include_str!("../../../docs/pytorch.md"), &wanted)
}
