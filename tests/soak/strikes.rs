//! The faults: ends of slurmctld and slurmd, and the habits of a controller by other hands.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use mock_vipu::{Effect, Fault, Rpc};
use rand::{RngExt as _, rngs::StdRng};
use rustix::process::Signal;
use testbed::{Cluster, wait_until};
use vipu_client::Call;

use crate::{
    count::{Count, What},
    side::Side,
};

const LIMIT: Duration = Duration::from_secs(60);

/// Strikes every few seconds for this time. All daemons run afterwards.
pub fn run(
    cluster: &Cluster,
    side: Side,
    time: Duration,
    random: &mut StdRng,
    count: &mut Count,
) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if side != Side::Stock {
            take_habits(cluster, random)?;
        }
        thread::sleep(Duration::from_millis(random.random_range(500..6_000)));
        match random.random_range(0..20) {
            0..8 => {
                cluster.stop_slurmctld()?;
                cluster.start_slurmctld_without_nodes()?;
                count.more(What::Stops, 1);
            }
            8..16 => {
                cluster.kill_slurmctld()?;
                cluster.start_slurmctld_without_nodes()?;
                count.more(What::Kills, 1);
            }
            16 => {
                cluster.kill_slurmdbd()?;
                cluster.start_slurmdbd()?;
            }
            which => {
                let signal = if which < 19 { Signal::TERM } else { Signal::KILL };
                end_slurmd(cluster, random.random_range(1..=2), signal)?;
                count.more(What::EndsOfSlurmd, 1);
            }
        }
        count.more(What::Resumed, resume(cluster)?);
    }
    if side == Side::Stock { Ok(()) } else { cluster.mock().clear() }
}

/// Ends the slurmd of a node, whose job steps go on. It starts again at once.
fn end_slurmd(cluster: &Cluster, node: u16, signal: Signal) -> Result<()> {
    let slurmd = cluster.slurmd(node)?;
    slurmd.signal(signal)?;
    wait_until("the end of slurmd", LIMIT, || Ok(!slurmd.exists()))
}

/// Gives the controller other habits. Answers that it has held leave.
fn take_habits(cluster: &Cluster, random: &mut StdRng) -> Result<()> {
    let mock = cluster.mock();
    mock.clear()?;
    if random.random_range(0..2) == 0 {
        mock.inject(Fault::new(Effect::OtherHands { seed: random.random_range(0..1_000_000) }))?;
    }
    let create = Some(Rpc(Call::CreatePartition));
    let effect = match random.random_range(0..5) {
        0 => Effect::SlowCreate { factor: random.random_range(0.1..4.0) },
        1 => Effect::SlowRpc { rpc: create, delay_ms: random.random_range(0..3_000) },
        2 => Effect::HeldReply { rpc: create },
        3 => Effect::LostReply { rpc: None },
        _ => return Ok(()),
    };
    mock.inject(Fault::new(effect).times(random.random_range(1..4)))
}

/// Resumes drained nodes, as an administrator does. Returns their number.
fn resume(cluster: &Cluster) -> Result<usize> {
    let states = cluster.command("sinfo").args(&["-h", "-N", "-o", "%N %T"]).output()?.stdout;
    let is_out = |line: &&str| line.contains("drain") || line.contains("down");
    let out: Vec<_> = states.lines().filter(is_out).filter_map(|line| line.split(' ').next()).collect();
    for node in &out {
        // It may be back by itself.
        let _ = cluster.scontrol(&["update", &format!("NodeName={node}"), "State=RESUME"]);
    }
    Ok(out.len())
}
