//! The commands of administrators, with a server in this process, and the request of a user, with an sbatch that prints
//! a text.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use clap::Parser as _;
use insta::assert_snapshot;
use svipu::{Arguments, Output};
use vipu_admin::{Answer, Request};
use vipu_status::{Drain, Status};

use super::documents::pod64;
use super::{NOW, printed, run, surroundings};

fn run_at(socket: &Path, words: &[&str]) -> Output {
    let words = std::iter::once("svipu").chain(words.iter().copied());
    let arguments = Arguments::try_parse_from(words.chain(["--socket", socket.to_str().unwrap()])).unwrap();
    svipu::run(&arguments, &surroundings(&[]))
}

/// The request that a command makes, and what it prints after this answer.
fn asks(words: &[&str], answer: &[u8]) -> (Request, Output) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::scope(|scope| {
        let request = scope.spawn(|| {
            let (mut peer, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&peer).read_line(&mut line).unwrap();
            peer.write_all(answer).unwrap();
            Request::parse(line.as_bytes()).unwrap()
        });
        let output = run_at(&socket, words);
        (request.join().unwrap(), output)
    })
}

#[test]
fn cli_svipu_steering_asks_what_was_typed() {
    let done = Answer::Done("as asked".into()).to_line().unwrap();
    let (ipus, reason) = ("vipu:8090/0:5".to_owned(), "new switch".to_owned());
    let drain = |until| Request::Drain { ipus: ipus.clone(), reason: reason.clone(), until };
    let words = ["drain", "vipu:8090/0:5", "--reason", "new switch"];
    let free = |force| Request::Free { partition: "slurm_7".into(), reason: reason.clone(), force };
    for (more, expected) in [
        (&[][..], None),
        (&["--until", "now+1:00:00"], Some(NOW + 3600)),
        (&["--until", "2027-01-15T12:00:00"], Some(1_800_014_400)),
        (&["--until", "2027-01-16"], Some(1_800_057_600)),
    ] {
        let (request, output) = asks(&[&words, more].concat(), &done);
        assert_eq!((request, &*printed(&output)), (drain(expected), "as asked\n"));
    }
    let of = |words: &[&str]| asks(words, &done).0;
    let resume = Request::Resume { ipus: "pod64".into(), reason: Some("done".into()) };
    assert_eq!(of(&["resume", "pod64", "--reason", "done"]), resume);
    assert_eq!(of(&["partition", "free", "slurm_7", "--reason", "new switch"]), free(false));
    assert_eq!(of(&["partition", "free", "slurm_7", "--force", "--reason", "new switch"]), free(true));
    assert_eq!(of(&["reconcile"]), Request::Reconcile {});
}

#[test]
fn cli_svipu_steering_tells_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let after = |answer: &[u8]| printed(&asks(&["reconcile"], answer).1);
    let refused = Answer::Refused("pod64 is unknown\u{1b}[2J\nx".into()).to_line().unwrap();
    let absent = printed(&run_at(&folder.join("absent"), &["reconcile"]));
    let all = [after(&refused), absent.replace(folder.to_str().unwrap(), "DIR")];
    assert_snapshot!(all.concat());
    assert!(after(b"{}\n").contains("this is no answer of slurmctld: expected value"));
    assert!(after(b"").contains("slurmctld closed the connection without an answer"));
}

#[test]
fn cli_svipu_steering_finds_the_socket_by_the_rule_of_slurmctld() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let conf = folder.join("slurm.conf");
    let looked = || {
        let arguments = Arguments::try_parse_from(["svipu", "reconcile"]).unwrap();
        let output = svipu::run(&arguments, &surroundings(&[("SLURM_CONF", &conf)]));
        let place = output.stderr.strip_prefix("svipu: ").unwrap().split(": ").next().unwrap().to_owned();
        place.replace(folder.to_str().unwrap(), "DIR")
    };
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("slurm.conf", &format!("ClusterName=c\nslurmctldpidfile = {}/run/x.pid # c\n", folder.display()));
    assert_eq!(looked(), "DIR/run/vipu_admin.socket");
    write("vipu.conf", &format!("ApiHost=x\nAdminSocket={}/own", folder.display()));
    assert_eq!(looked(), "DIR/own");
    write("vipu.conf", "AdminSocket=none");
    assert_eq!(looked(), "DIR/vipu.conf says AdminSocket=none, so slurmctld takes no requests\n");
}

#[test]
fn cli_svipu_free_of_a_user_has_the_answer_of_slurmctld() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let conf = place("slurm.conf");
    let free = |words: &[&str]| {
        let words = ["svipu", "partition", "free", "slurm_7"].iter().chain(words);
        let arguments = Arguments::try_parse_from(words).unwrap();
        printed(&svipu::run(&arguments, &surroundings(&[("PATH", folder.path()), ("SLURM_CONF", &conf)])))
    };
    let mut all = free(&[]);
    let mut after = |said: &str, exit: u8| {
        let errors = place("errors");
        fs::write(&errors, said.replace("! ", "sbatch: error: ")).unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$@\" > {}; /bin/cat {} >&2; exit {exit}\n",
            place("words").display(),
            errors.display()
        );
        fs::write(place("sbatch"), script).unwrap();
        fs::set_permissions(place("sbatch"), Permissions::from_mode(0o755)).unwrap();
        all += &format!("sbatch: {}\n{}\n", said.replace('\u{1b}', "ESC"), free(&["--reason", "seen, 5%\n"]));
        fs::read_to_string(place("words")).unwrap()
    };
    let gres = "allocation failure: Invalid generic resource (gres) specification";
    let words = after(&format!("! vipu: done: slurm_7 was kept for job 7 and is being removed\n{gres}"), 1);
    assert_eq!(words, "--test-only --gres=vipu:free.slurm_7.seen%2C%205%25%5Cn --wrap=true\n");
    after(&format!("sbatch: lua: hello\n! vipu: job 7 has slurm_7: \u{1b}\n{gres}"), 1);
    after("allocation failure: Unable to contact slurm controller (connect failure)", 1);
    after("! name an account\nallocation failure: Unspecified error", 1);
    after("sbatch: Job 8 to start at 2026-11-30T12:00:00 using 1 processors on nodes n1 in partition p", 0);
    assert_snapshot!(all);
}

#[test]
fn cli_svipu_steering_forecasts_know_drains() {
    let mut status = pod64();
    let when = |status: &Status| printed(&run(status, "when --ipus=1 -t 1:00:00"));
    let free = when(&status);
    let drain = Drain { model: status.models[0].name.clone(), ..Drain::default() };
    status.drains = vec![Drain { until: Some(NOW + 600), ..drain.clone() }];
    let for_a_while = when(&status);
    status.drains = vec![drain];
    assert_snapshot!([free, for_a_while, when(&status)].concat());
}

/// A partition may have any name, also `free`.
#[test]
fn cli_svipu_steering_leaves_the_page_of_a_partition() {
    for (line, is_good) in [
        ("partition slurm_7", true),
        ("partition", false),
        ("partition free", false),
        ("partition -- free", true),
        ("drain pod64", false),
        ("drain pod64 --reason x --until soon", false),
    ] {
        let words = std::iter::once("svipu").chain(line.split(' '));
        assert_eq!(Arguments::try_parse_from(words).is_ok(), is_good, "{line}");
    }
}
