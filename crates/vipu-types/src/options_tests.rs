use std::time::Duration;

use super::*;

fn asked(options: &[(JobOption, &str)]) -> Asked {
    let mut asked = Asked::default();
    for (option, value) in options {
        asked.set(*option, value).unwrap();
    }
    asked
}

#[test]
fn options_are_read_from_slurms_variables() {
    let kept = [
        "_SLURM_SPANK_OPTION_spank_ipuof_ipus=16",
        "_SLURM_SPANK_OPTION_spank_ipuof_ipu_gcds=2",
        "_SLURM_SPANK_OPTION_spank_ipuof_ipu_reconfigurable=(null)",
        "_SLURM_SPANK_OPTION_spank_ipuof_ipu_sync=pod-native-default",
        "_SLURM_SPANK_OPTION_spank_ipuof_ipu_keep=10m",
        "_SLURM_SPANK_OPTION_spank_ipuof_ipu_requeue_on=42,128-255",
        "_SLURM_SPANK_OPTION_spank_ipuof_unknown=x",
        "_SLURM_SPANK_OPTION_other_ipus=4",
        "PATH=/bin",
        "",
    ];
    let read = Asked::read(kept).unwrap();
    let shape =
        Shape { gcds: 2, reconfigurable: Some(true), sync: Some(Sync::PodNativeDefault), ..Shape::default() };
    let after_failure =
        AfterFailure { keep: Some(Duration::from_secs(600)), requeue_on: "42,128-255".parse().unwrap() };
    assert_eq!(read, Asked { ipus: Some(16), model: None, shape, after_failure });
    assert!(Asked::read(["_SLURM_SPANK_OPTION_spank_ipuof_ipus=x"]).is_err());
}

#[test]
fn every_option_has_a_variable_that_is_read() {
    for option in JobOption::ALL {
        let value = match option {
            JobOption::Model => "pod64",
            JobOption::Reconfigurable => "no",
            JobOption::Sync => "c2-compatible",
            JobOption::Routing => "btnc",
            JobOption::GatewayRouting => "swring",
            _ => "4",
        };
        let read = Asked::read([format!("{}={value}", option.variable()).as_str()]).unwrap();
        assert_eq!(read, asked(&[(option, value)]));
        assert_ne!(read, Asked::default(), "{option:?}");
    }
}

#[test]
fn a_value_that_means_nothing_is_told_in_one_line() {
    for (option, value, line) in [
        (JobOption::Ipus, "", "--ipus=: a number of IPUs, 1 or more, is needed"),
        (JobOption::Ipus, "0", "--ipus=0: a number of IPUs, 1 or more, is needed"),
        (JobOption::Ipus, "-1", "--ipus=-1: a number of IPUs, 1 or more, is needed"),
        (JobOption::Ipus, "+1", "--ipus=+1: a number of IPUs, 1 or more, is needed"),
        (JobOption::Ipus, "16\n", "--ipus=16\\n: a number of IPUs, 1 or more, is needed"),
        (JobOption::Ipus, "99999999999999999999", "--ipus=99999999999999999999: is more than any system has"),
        (
            JobOption::Ipus,
            "pod64:4",
            "--ipus=pod64:4: a number alone, as in --ipus=4 --ipu-model=pod64, is needed",
        ),
        (JobOption::Gcds, "4294967296", "--ipu-gcds=4294967296: is more than any system has"),
        (JobOption::Replicas, "x", "--ipu-replicas=x: a number of replicas, 1 or more, is needed"),
        (JobOption::Model, "a b", "--ipu-model=a b: the name of a Pod model is needed"),
        (JobOption::Reconfigurable, "maybe", "--ipu-reconfigurable=maybe: yes or no is needed"),
        (JobOption::GatewayRouting, "", "--ipu-gateway-routing=: one of ring, swring is needed"),
        (JobOption::Routing, "RING", "--ipu-routing=RING: one of dnc, swnc, btnc, ringswnc is needed"),
        (
            JobOption::Keep,
            "0",
            "--ipu-keep=0: a time, such as 10 (minutes), 90s, 10m or 1h, of at most a year, is needed",
        ),
        (
            JobOption::RequeueOn,
            "0",
            "--ipu-requeue-on=0: a list of exit codes from 1 to 255, such as 42,128-255, or any, is needed",
        ),
    ] {
        assert_eq!(Asked::default().set(option, value).unwrap_err().to_string(), line);
    }
}

#[test]
fn options_and_gres_are_one_request() {
    let gres = |text: &str| GresRequest::find(text).unwrap();
    let merged = |options: &[(JobOption, &str)], tres: &str| match asked(options).with_gres(gres(tres)) {
        Ok(Some(request)) => request.to_string(),
        Ok(None) => "none".into(),
        Err(why) => why.to_string(),
    };
    use JobOption::{Gcds, Ipus, Keep, Model, RequeueOn};
    for (options, tres, meaning) in [
        (&[][..], "", "none"),
        (&[(Ipus, "16")], "", "vipu:16"),
        (&[(Ipus, "16"), (Model, "pod64")], "", "vipu:pod64:16"),
        (&[(Ipus, "16")], "gpu:2", "vipu:16"),
        (&[(Ipus, "16")], "vipu:pod64:16", "vipu:pod64:16"),
        (&[(Ipus, "16")], "vipu:pod64", "vipu:pod64:16"),
        (&[(Model, "pod64")], "vipu:16", "vipu:pod64:16"),
        (&[(Gcds, "2")], "vipu:16", "vipu:16"),
        (
            &[(Ipus, "8")],
            "vipu:16",
            "--ipus=8 and --gres=vipu:16 are two numbers of IPUs: give one (another plugin may have set the --gres)",
        ),
        (
            &[(Model, "pod16")],
            "vipu:pod64:4",
            "--ipu-model=pod16 and --gres=vipu:pod64:4 are two models: give one",
        ),
        (
            &[(Gcds, "2")],
            "",
            "--ipu-gcds says what a partition is to be like, and the job asks for no IPUs: add --ipus=<IPUs>",
        ),
        (&[(Keep, "1h"), (RequeueOn, "1")], "vipu:16", "vipu:16"),
        (
            &[(RequeueOn, "1")],
            "gpu:2",
            "--ipu-requeue-on is for jobs with IPUs, and this one asks for none: add --ipus=<IPUs>",
        ),
    ] {
        assert_eq!(merged(options, tres), meaning, "{options:?} {tres}");
    }
}

proptest::proptest! {
    #[test]
    fn any_value_is_taken_or_told_in_one_short_line(index in 0..JobOption::ALL.len(), value in ".{0,200}") {
        let mut asked = Asked::default();
        if let Err(why) = asked.set(JobOption::ALL[index], &value) {
            let line = why.to_string();
            proptest::prop_assert!(!line.contains(char::is_control) && line.chars().count() < 400, "{line:?}");
            proptest::prop_assert_eq!(asked, Asked::default());
        }
    }
}
