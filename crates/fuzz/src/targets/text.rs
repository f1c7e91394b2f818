//! Targets for texts of people and files: vipu.conf, requests, the journal, the table file.

use std::path::Path;

use driver::journal;
use slurm_release::table_file;
use vipu_admin::{Request, UserRequest};
use vipu_conf::Settings;
use vipu_types::{ControllerName, Grant, GresRequest, ModelName};

/// Reads `vipu.conf`. Every error has a text, on one line and on several.
pub(super) fn conf(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(broken) = Settings::parse(&text, Path::new("/etc/slurm/vipu.conf")) {
        assert!(!broken.problems.is_empty());
        assert!(!broken.one_line().contains('\n'));
        assert!(!broken.to_string().is_empty());
    }
}

pub(super) fn conf_seeds() -> Vec<Vec<u8>> {
    let all = vipu_conf::KEYS.iter().map(|key| format!("{}=1\n", key.name)).collect::<String>();
    let good = "ApiHost=a.example.org:1,[::1]\nIpuofDir=/x # y\nMaxIpusPerJob=64\nIpusPerSlurmPartition=debug:16,short:32\n\
                Placement=explicit\nCluster=c\nLayer=linear\nApiTlsCa=/ca\nApiAccessFile=/a\nPartitionPrefix=p\n";
    [good, &all, "ApiHost=\"x\\\n", "=\n", "VipuIpuofDir = /x\r\n\tApiPort:2"].map(Into::into).into()
}

/// Reads a GRES request, and its forms on the way to a task.
pub(super) fn gres(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match GresRequest::find(&text) {
        Ok(Some(request)) => {
            assert_eq!(GresRequest::find(&request.to_string()), Ok(Some(request.clone())));
            let replaced = request.replace_in(&text).map(|text| GresRequest::find(&text));
            assert_eq!(replaced, Some(Ok(Some(request))));
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(grant) = text.parse::<Grant>() {
        assert_eq!(grant.to_string().parse(), Ok(grant));
    }
    if let Ok(controller) = text.parse::<ControllerName>() {
        assert_eq!(controller.to_string().parse(), Ok(controller));
    }
}

pub(super) fn gres_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "gres:gpu:2,gres/vipu:pod64:16",
        "vipu:pod64=1k",
        "vipu",
        "gres:vipu:2,vipu:4",
        "slurm_42r1,pod64,128,2,[::1]:8090",
    ];
    texts.map(Into::into).into()
}

/// Reads the journal, as it is and with corrected checksums, because few lines would be read otherwise.
pub(super) fn journal(bytes: &[u8]) {
    read_journal(bytes);
    let mut mended = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let json = line.strip_suffix(b"\n").unwrap_or(line);
        mended.extend(format!("{:08x} ", crc32fast::hash(json.trim_ascii_end())).bytes());
        mended.extend(line);
    }
    read_journal(&mended);
}

fn read_journal(text: &[u8]) {
    let first =
        |model: &ModelName| (model.as_str() != "nowhere").then(|| ControllerName::new("c", 1).unwrap());
    if let Ok((live, shortest)) = journal::compacted(text, first) {
        assert_eq!(journal::compacted(&shortest, |_| None), Ok((live, shortest.clone())));
    }
}

pub(super) fn journal_seeds() -> Vec<Vec<u8>> {
    let claim = r#"{"partition":"slurm_1","run":{"job":1,"restart":0,"start":5},"user":7,"model":"pod64","controller":"c:1","size":16}"#;
    let old = claim.replace(r#","controller":"c:1""#, "").replace("slurm_1", "slurm_2r3");
    let whole = format!(
        "{{\"journal\":\"slurm-vipu\",\"version\":2}}\n{{\"create\":{{\"claim\":{claim},\"ipuof_dir\":\"/x\"}}}}\n\
         {{\"created\":\"slurm_1\"}}\n{{\"remove\":{{\"claim\":{old}}}}}\n{{\"gone\":\"slurm_1\"}}\n"
    );
    let (_, written) = journal::compacted(whole.replace("version\":2", "version\":1").as_bytes(), |_| {
        ControllerName::new("c", 1).ok()
    })
    .unwrap_or_default();
    vec![whole.into(), written]
}

/// Reads a table file, as it is and with a corrected checksum.
pub(super) fn table(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let sealed = table_file::sealed(text.clone());
    for text in [text, sealed] {
        if let Err(error) = table_file::check(&text) {
            assert!(!error.to_string().is_empty());
        }
    }
}

pub(super) fn table_seeds() -> Vec<Vec<u8>> {
    let structs = slurm_release::STRUCTS.iter().map(|it| {
        let (size, step) = if it.name == "slurmctld_lock" { (24, 4) } else { (1024, 8) };
        let members = it.members.iter().enumerate();
        let members =
            members.map(|(nth, (member, kind))| format!("{}.{member}={} {kind}\n", it.name, step * nth));
        format!("{}={size}\n{}", it.name, members.collect::<String>())
    });
    let constants = slurm_release::CONSTANTS.iter().map(|(name, value)| format!("{name}={value}\n"));
    let text = format!("Release=26.11.1\nSoname=46\n{}", structs.chain(constants).collect::<String>());
    assert!(table_file::parse(&table_file::sealed(text.clone())).is_ok(), "the seed is of no use");
    vec![text.into()]
}

/// Reads a request of an administrator.
pub(super) fn admin(bytes: &[u8]) {
    match Request::parse(bytes) {
        Ok(request) => assert_eq!(Request::parse(&request.to_line().unwrap()).unwrap(), request),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    if let Some(request) = UserRequest::find(&String::from_utf8_lossy(bytes)) {
        assert_eq!(UserRequest::find(&request.to_gres()), Some(request));
    }
}

pub(super) fn admin_seeds() -> Vec<Vec<u8>> {
    let requests = [
        r#"{"drain":{"ipus":"vipu:8090/0:5","reason":"new switch","until":1800000000}}"#,
        r#"{"resume":{"ipus":"pod64","reason":null}}"#,
        r#"{"free":{"partition":"slurm_7","reason":"\u001b[2J","force":true}}"#,
        r#"{"reconcile":{}}"#,
        "gpu:2,gres/vipu:free.slurm_7.new%20switch",
    ];
    requests.map(Into::into).into()
}
