//! Resolved requests, and the texts of refusals.

use std::path::Path;

use vipu_conf::Settings;

use super::*;

fn models(limits: &[(&str, u32)]) -> Models {
    let known =
        limits.iter().map(|&(name, largest)| (ModelName::new(name).unwrap(), Model::of_size(largest)));
    Models(known.collect())
}

fn asks(tres: &str, options: &[&str]) -> Request {
    let option = |option: &&str| format!("_SLURM_SPANK_OPTION_spank_ipuof_{option}");
    let options = options.iter().map(option).collect();
    Request { tres: tres.into(), options, ..Request::default() }
}

fn answer(models: &Models, tres: &str) -> String {
    answer_to(models, &asks(tres, &[]))
}

fn answer_to(models: &Models, request: &Request) -> String {
    let found = models.find_new(request);
    let canonical = |done: Option<Taken>| models.canonical(&done.unwrap().resolved).to_string();
    found.map_or_else(|why| why.to_string(), canonical)
}

/// The answer of pod64 with these lines in its file: the list and the notice, or the refusal.
fn with_conf(lines: &str, request: &Request) -> (String, Option<String>) {
    let file = format!("ApiHost=x IpuofDir=/x {lines}");
    let settings = Settings::parse(&file, Path::new("vipu.conf")).unwrap();
    let largest = settings.max_ipus_per_job.min(64);
    let model = Model { largest, sizes: None, settings: Some(settings), cabling: None };
    let models = Models([(ModelName::new("pod64").unwrap(), model)].into());
    with_notice(&models, request)
}

fn with_notice(models: &Models, request: &Request) -> (String, Option<String>) {
    let taken = models.find_new(request).ok().flatten();
    let notice = taken.and_then(|taken| taken.notice(&models.canonical(&taken.resolved)));
    (answer_to(models, request), notice)
}

/// A model whose nodes offer partitions of 4 and 16 IPUs, and others.
fn sizes_and(others: &[(&str, u32)], conf: &str) -> Models {
    let file = format!("ApiHost=x IpuofDir=/x Mode=pool Pool=16x4,4x8 {conf}");
    let settings = vipu_conf::Settings::parse(&file, std::path::Path::new("vipu.conf")).unwrap();
    let sizes = [4, 16].map(|size| IpuCount::new(size).unwrap()).into();
    let sized = Model { largest: 16, sizes: Some(sizes), settings: Some(settings), cabling: None };
    let Models(mut all) = models(others);
    all.insert(ModelName::of_sizes(), sized);
    Models(all)
}

#[test]
fn one_model_completes_every_request() {
    let one = models(&[("pod64", 64)]);
    for (asked, meaning) in [
        ("vipu", "vipu:pod64:1"),
        ("vipu:4", "vipu:pod64:4"),
        ("vipu:pod64", "vipu:pod64:1"),
        ("vipu:pod64:64", "vipu:pod64:64"),
    ] {
        assert_eq!(answer(&one, asked), meaning);
    }
    assert_eq!(one.find(&asks("gpu:2", &[])), Ok(None));
}

#[test]
fn a_refusal_names_valid_requests_and_the_models() {
    let one = models(&[("pod64", 64)]);
    for (asked, line) in [
        ("vipu:pod64:3", "3 IPUs is not a power of two; valid: --gres=vipu:pod64:2 or --gres=vipu:pod64:4"),
        ("vipu:65", "a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64"),
        ("vipu:0", "a partition has at least 1 IPU; valid: --gres=vipu:pod64:1"),
        ("vipu:128", "a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64"),
        ("vipu:pod99:4", "there is no model pod99; valid: --gres=vipu:pod64:4"),
        ("vipu:pod99:3", "there is no model pod99"),
        ("vipu:4,vipu:8", "'vipu:4' and 'vipu:8': a job has one partition, ask for vipu once"),
    ] {
        assert_eq!(answer(&one, asked), format!("vipu: {line}; models: pod64 (1, 2, 4 ... 64 IPUs)"));
    }
    assert_eq!(
        answer(&models(&[]), "vipu:4"),
        "vipu: which model? write --gres=vipu:<model>:<IPUs>; no node has a vipu GRES"
    );
}

#[test]
fn two_models_need_a_word() {
    let two = models(&[("pod16", 16), ("pod64", 64)]);
    assert_eq!(
        answer(&two, "vipu:4"),
        "vipu: which model? write --gres=vipu:<model>:<IPUs>; valid: --gres=vipu:pod16:4 or \
         --gres=vipu:pod64:4; models: pod16 (1, 2, 4 ... 16 IPUs), pod64 (1, 2, 4 ... 64 IPUs)"
    );
    assert_eq!(answer(&two, "vipu:pod16:4"), "vipu:pod16:4");
    let no_size = "vipu: which model? write --gres=vipu:<model>:<IPUs>; models: pod16 (";
    assert!(answer(&two, "vipu:3").starts_with(no_size), "{}", answer(&two, "vipu:3"));
}

#[test]
fn answers_speak_the_options_that_were_typed() {
    let two = models(&[("pod16", 16), ("pod64", 64)]);
    for (options, line) in [
        (
            &["ipus=4"][..],
            "vipu: which model? add --ipu-model=<model>; valid: --ipus=4 --ipu-model=pod16 or --ipus=4 --ipu-model=pod64; ",
        ),
        (&["ipus=3", "ipu_model=pod16"], "vipu: 3 IPUs is not a power of two; valid: --ipus=2 or --ipus=4; "),
        (&["ipus=128"], "vipu: a job on pod64 gets at most 64 IPUs; valid: --ipus=64 --ipu-model=pod64; "),
    ] {
        let answer = answer_to(&two, &asks("", options));
        assert!(answer.starts_with(line), "{answer}");
    }
}

#[test]
fn a_size_that_only_one_model_has_needs_no_model() {
    let three = models(&[("pod16", 16), ("pod16b", 16), ("pod64", 64)]);
    assert_eq!(answer(&three, "vipu:32"), "vipu:pod64:32");
    assert!(answer(&three, "vipu:16").starts_with("vipu: which model?"));
    assert!(
        answer(&three, "vipu:128")
            .starts_with("vipu: a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64; models: "),
        "{}",
        answer(&three, "vipu:128")
    );
}

#[test]
fn options_are_part_of_the_request() {
    let one = models(&[("pod64", 64)]);
    for (tres, options, meaning) in [
        ("", &["ipus=16"][..], "vipu:pod64:16"),
        ("gres:gpu:2", &["ipus=16", "ipu_model=pod64"], "vipu:pod64:16"),
        ("vipu:pod64", &["ipus=16"], "vipu:pod64:16"),
    ] {
        assert_eq!(answer_to(&one, &asks(tres, options)), meaning);
    }
    for (tres, options, line) in [
        ("", &["ipus=3"][..], "vipu: 3 IPUs is not a power of two; valid: --ipus=2 or --ipus=4; models: "),
        ("", &["ipus=128"], "vipu: a job on pod64 gets at most 64 IPUs; valid: --ipus=64; models: "),
        (
            "",
            &["ipus=4", "ipu_model=pod9"],
            "vipu: there is no model pod9; valid: --ipus=4 --ipu-model=pod64; models: ",
        ),
        ("vipu:pod64", &["ipus=3"], "vipu: 3 IPUs is not a power of two; valid: --gres=vipu:pod64:2 or"),
        ("vipu:8", &["ipus=16"], "vipu: --ipus=16 and --gres=vipu:8 are two numbers of IPUs"),
        ("vipu:8", &["ipu_gcds=3"], "vipu: --ipu-gcds=3: 8 IPUs cannot be divided"),
        ("vipu:8", &["ipu_sync=x"], "vipu: --ipu-sync=x: one of c2-compatible, "),
    ] {
        let answer = answer_to(&one, &asks(tres, options));
        assert!(answer.starts_with(line), "{answer}");
    }
    // The list of an accepted job counts, because an administrator may have changed it.
    let changed = one.find(&asks("gres:vipu:pod64:8", &["ipus=16"])).unwrap().unwrap();
    assert_eq!(changed.size.get(), 8);
}

#[test]
fn a_number_between_two_sizes_is_rounded_up_if_the_site_wants_it() {
    let up = "SizePolicy=round-up";
    for (tres, options, list, notice) in [
        ("gpu:1,vipu:3", &[][..], "vipu:pod64:4", Some((3, 4))),
        ("", &["ipus=33"], "vipu:pod64:64", Some((33, 64))),
        ("vipu:pod64:8", &[], "vipu:pod64:8", None),
        ("", &["ipus=3", "ipu_gcds=4"], "vipu:pod64:4", Some((3, 4))),
    ] {
        let line = |(asked, size)| {
            format!("vipu: {asked} IPUs are rounded up to {size}, as partitions have 1, 2, 4 ... IPUs")
        };
        assert_eq!(with_conf(up, &asks(tres, options)), (list.to_owned(), notice.map(line)), "{tres}");
    }
    // A number is not rounded beyond a limit, and 0 not at all. The shape has to fit the rounded size.
    let (gcds, up_to_48) = (["ipus=7", "ipu_gcds=7"], "SizePolicy=round-up MaxIpusPerJob=48");
    for (lines, request, line) in [
        (
            up_to_48,
            asks("vipu:33", &[]),
            "a job on pod64 gets at most 48 IPUs; valid: --gres=vipu:pod64:32; ",
        ),
        (up, asks("vipu:65", &[]), "a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64; "),
        (up, asks("vipu:0", &[]), "a partition has at least 1 IPU; "),
        (up, asks("", &gcds), "--ipu-gcds=7: 8 IPUs cannot be divided into so many GCDs; "),
        ("", asks("vipu:3", &[]), "3 IPUs is not a power of two; "),
    ] {
        let (answer, notice) = with_conf(lines, &request);
        assert!(answer.starts_with(&format!("vipu: {line}")) && notice.is_none(), "{answer} {notice:?}");
    }
}

#[test]
fn limits_depend_on_slurm_partition_and_qos() {
    let limits = "SizePolicy=round-up MaxIpusPerJobInSlurmPartition=debug:12 MaxIpusPerJobInQos=low:8";
    let standing = |slurm_partition: &str, qos: Option<&str>| Standing {
        slurm_partitions: Some(slurm_partition.to_owned()),
        qos: qos.map(str::to_owned),
    };
    for (tres, standing, answer) in [
        ("vipu:16", standing("other", None), "vipu:pod64:16"),
        ("vipu:8", standing("debug", None), "vipu:pod64:8"),
        (
            "vipu:16",
            standing("debug", None),
            "vipu: a job in Slurm partition debug gets at most 12 IPUs of pod64; valid: --gres=vipu:pod64:8; models: \
             pod64 (1, 2, 4 ... 64 IPUs)",
        ),
        (
            "vipu:9",
            standing("debug", None),
            "vipu: a job in Slurm partition debug gets at most 12 IPUs of pod64; valid: --gres=vipu:pod64:8; models: \
             pod64 (1, 2, 4 ... 64 IPUs)",
        ),
        (
            "vipu:16",
            standing("debug", Some("low")),
            "vipu: a job of QOS low gets at most 8 IPUs of pod64; valid: --gres=vipu:pod64:8; models: pod64 (1, 2, 4 \
             ... 64 IPUs)",
        ),
    ] {
        let request = Request { standing, ..asks(tres, &[]) };
        assert_eq!(with_conf(limits, &request).0, answer);
    }
}

#[test]
fn a_change_of_the_list_keeps_the_other_options() {
    let two = models(&[("pod16", 16), ("pod64", 64)]);
    let changed = |tres| {
        let found = two.find_changed(&asks(tres, &["ipus=16", "ipu_model=pod64", "ipu_gcds=4"]));
        found.map_or_else(|why| why.to_string(), |done| two.canonical(&done.unwrap().resolved).to_string())
    };
    assert_eq!(changed("vipu:8"), "vipu:pod64:8");
    assert_eq!(changed("vipu:pod16:8"), "vipu:pod16:8");
    let line = "vipu: --ipu-gcds=4: 2 IPUs cannot be divided into so many GCDs; models: ";
    assert!(changed("vipu:pod64:2").starts_with(line), "{}", changed("vipu:pod64:2"));
}

#[test]
fn a_size_is_a_type_where_nodes_offer_sizes() {
    let sizes = sizes_and(&[], "");
    for (tres, options, list, notice) in [
        ("vipu:16:1", &[][..], "vipu:16:1", None),
        ("vipu:16:1", &["ipus=16", "ipu_model=vipu"], "vipu:16:1", None),
        ("", &["ipus=16"], "vipu:16:1", None),
        ("vipu:vipu:4", &[], "vipu:4:1", None),
        ("vipu:16", &[], "vipu:16:1", Some("this is one partition of 16 IPUs; write --gres=vipu:16:1")),
        ("vipu", &[], "vipu:1:1", Some("this is one partition of 1 IPU; write --gres=vipu:1:1")),
    ] {
        let notice = notice.map(|notice| format!("vipu: {notice}"));
        assert_eq!(
            with_notice(&sizes, &asks(tres, options)),
            (list.to_owned(), notice),
            "{tres} {options:?}"
        );
    }
    let rounding = sizes_and(&[], "SizePolicy=round-up");
    let notice = "vipu: 3 IPUs are rounded up to 4, as partitions have 1, 2, 4 ... IPUs";
    assert_eq!(with_notice(&rounding, &asks("vipu:3:1", &[])), ("vipu:4:1".into(), Some(notice.into())));
    let notice = format!("{notice}; write --gres=vipu:4:1");
    assert_eq!(with_notice(&rounding, &asks("vipu:3", &[])), ("vipu:4:1".into(), Some(notice)));
}

#[test]
fn a_refusal_of_a_size_names_the_sizes_of_nodes() {
    let sizes = sizes_and(&[], "");
    for (tres, line) in [
        ("vipu:16:2", "a job has one partition, not 2; valid: --gres=vipu:16:1"),
        ("vipu:4:4", "a job has one partition, not 4; valid: --gres=vipu:4:1 or --gres=vipu:16:1"),
        ("vipu:4:0", "a job has one partition, not 0; valid: --gres=vipu:4:1"),
        ("vipu:12:1", "12 IPUs is not a power of two; valid: --gres=vipu:16:1"),
        ("vipu:64:1", "a job on vipu gets at most 16 IPUs; valid: --gres=vipu:16:1"),
        ("vipu:pod64:16", "there is no model pod64; valid: --gres=vipu:16:1"),
        ("vipu:1:1,vipu:4:1", "'vipu:1:1' and 'vipu:4:1': a job has one partition, ask for vipu once"),
    ] {
        assert_eq!(answer(&sizes, tres), format!("vipu: {line}; models: vipu (4 or 16 IPUs)"));
    }
    let without = models(&[("pod64", 64)]);
    assert_eq!(
        answer(&without, "vipu:16:1"),
        "vipu: no node has 16 as the size of partitions; valid: --gres=vipu:pod64:16; models: pod64 (1, 2, 4 ... 64 IPUs)"
    );
    let both = sizes_and(&[("pod64", 64)], "");
    assert!(answer(&both, "vipu:4").starts_with(
        "vipu: which model? write --gres=vipu:<model>:<IPUs>; valid: --gres=vipu:pod64:4 or --gres=vipu:4:1;"
    ));
    assert_eq!(answer(&both, "vipu:4:1"), "vipu:4:1");
    let other_model = answer_to(&both, &asks("vipu:4:1", &["ipu_model=pod64"]));
    assert!(
        other_model.starts_with("vipu: --ipu-model=pod64 and --gres=vipu:4:1 are two models"),
        "{other_model}"
    );
}

#[test]
fn only_impossible_requests_are_refused_for_good() {
    let one = models(&[("pod64", 64)]);
    for (asked, for_good) in [("vipu:3", true), ("vipu:0", true), ("vipu:128", false), ("vipu:pod9:1", false)]
    {
        assert_eq!(one.find(&asks(asked, &[])).unwrap_err().is_for_good(), for_good, "{asked}");
    }
}

#[test]
fn a_model_that_gives_whole_pods_has_one_size() {
    let refusal =
        "vipu: jobs on pod64 get all 64 IPUs of a Pod; valid: --gres=vipu:pod64:64; models: pod64 (64 IPUs)";
    for (asked, told) in [
        ("vipu:pod64:64", "vipu:pod64:64"),
        ("vipu:64", "vipu:pod64:64"),
        ("vipu:16", refusal),
        ("vipu", refusal),
        ("vipu:3", refusal),
        ("vipu:128", refusal),
    ] {
        assert_eq!(with_conf("Mode=whole", &asks(asked, &[])), (told.to_owned(), None), "{asked}");
    }
    let rounded = "vipu: 16 IPUs are rounded up to 64, as partitions have 64 IPUs";
    assert_eq!(
        with_conf("Mode=whole SizePolicy=round-up", &asks("vipu:16", &[])),
        ("vipu:pod64:64".into(), Some(rounded.into()))
    );
    let small = asks("vipu:0", &[]);
    assert_eq!(with_conf("Mode=whole SizePolicy=round-up", &small).0, refusal);
}

#[test]
fn a_number_alone_means_the_model_that_has_this_size() {
    let whole = Settings::parse("ApiHost=x IpuofDir=/x Mode=whole", Path::new("vipu.conf")).unwrap();
    let Models(mut two) = models(&[("pod16", 16)]);
    two.insert(
        ModelName::new("pod64").unwrap(),
        Model { largest: 64, sizes: None, settings: Some(whole), cabling: None },
    );
    let two = Models(two);
    assert_eq!(answer(&two, "vipu:8"), "vipu:pod16:8");
    assert_eq!(answer(&two, "vipu:64"), "vipu:pod64:64");
}
