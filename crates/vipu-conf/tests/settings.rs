//! The reading of settings from the text of a file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use vipu_conf::{
    Accounting, AdminSocket, AuditLevel, AuditTo, Broken, KEYS, KeepIdleFor, Layer, Mode, OnPartitionError,
    Placement, Prepare, Preset, ReuseReset, Settings, SizePolicy,
};
use vipu_types::{Access, ControllerName, Delivery, Tls, TlsIdentity, WeeklyTimes};

const MINIMAL: &str = "ApiHost=vipu-server\nIpuofDir=/shared/ipuof\n";

fn parse(text: &str) -> Result<Settings, Broken> {
    Settings::parse(text, Path::new("/etc/slurm/vipu.conf"))
}

fn controller(name: &str) -> ControllerName {
    name.parse().unwrap()
}

#[test]
fn reuse_is_not_possible_if_nodes_fetch_the_file() {
    let error = parse("ApiHost=v\nDelivery=node\nKeepIdle=60\n").unwrap_err().to_string();
    assert!(error.contains(":3:") && error.contains("not possible with Delivery=node"), "{error}");
    assert!(parse("ApiHost=v\nDelivery=node\nKeepIdle=0\n").is_ok());
}

#[test]
fn a_pool_has_its_partitions_and_only_a_pool_has() {
    for (text, place, why) in [
        ("Mode=pool\n", ":3:6", "give Pool too"),
        ("Pool=16x4\n", ":3:6", "with Mode=pool only"),
        ("Mode=pool Pool=12x1\n", ":3:16", "12 IPUs is not a power of two"),
        ("Mode=pool Pool=1x1 Delivery=api Placement=explicit Cluster=c\n", ":3:6", "Placement=explicit"),
        ("Mode=pool Pool=1x1 Delivery=node\n", ":3:6", "not possible with Delivery=node"),
        ("Mode=pools\n", ":3:6", "not a mode (partition, pool, whole, shared, host)"),
        ("Mode=shared Delivery=api\n", ":3:6", "give SharedPartition too"),
        ("SharedPartition=all\n", ":3:17", "with Mode=shared only"),
        ("Mode=shared SharedPartition=all\n", ":3:6", "needs Delivery=api"),
        ("Mode=host Cluster=c\n", ":3:6", "give HostMap too"),
        ("Mode=host HostMap=m\n", ":3:6", "give Cluster too"),
        ("Mode=host HostMap=m Cluster=c KeepIdle=9\n", ":3:6", "not possible with KeepIdle"),
        ("Mode=host HostMap=m Cluster=c Nodes=v:n1\n", ":3:6", "not possible with Nodes"),
        ("Mode=pool Pool=1x1 KeepIdle=9\n", ":3:6", "not possible with KeepIdle"),
        ("Mode=shared SharedPartition=all Delivery=api KeepIdle=9\n", ":3:6", "not possible with KeepIdle"),
        ("HostMap=m\n", ":3:9", "with Mode=host only"),
        ("WholeTimes=\"sat 8-20\"\n", ":3:12", "is not <days> <start>-<end>"),
        ("Mode=whole WholeTimes=\"sat 08:00-20:00\"\n", ":3:23", "with Mode=partition only"),
    ] {
        let error = parse(&format!("ApiHost=v\nIpuofDir=/x\n{text}")).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(why), "{text}: {error}");
    }
    let two = parse("ApiHost=a,b IpuofDir=/x Mode=pool Pool=1x1").unwrap_err().to_string();
    assert!(two.contains("not possible with several controllers"), "{two}");
    let good = parse("ApiHost=a IpuofDir=/x mode=POOL Pool=16x4,p8_*").unwrap();
    assert_eq!((good.mode, good.pool), (Mode::Pool, Some("16x4,p8_*".parse().unwrap())));
}

#[test]
fn every_key_is_read_in_any_case_and_by_its_synonym() {
    let text = "apihost = [::1],vipu2:8091  APIPORT=1 # a comment\n\
                VipuIpuofDir=\"/with blank\" delivery=FILE maxipusperjob=100 IpusPerSlurmPartition=debug:16\n\
                MaxIpusPerJobInSlurmPartition=debug:8 MaxIpusPerJobInQos=Low:4,normal:64 sizepolicy=Round-Up\n\
                ApiTimeout=7 ForceDeletePartition=yes \\\n  UseReconfigPartition=TRUE\n\
                Layer=linear adminsocket=/run/a PartitionPrefix=c2 Allocation=alloc-1 AllocationAgents=ag1,ag2 placement=Controller Cluster=c64 LinkDomainSize=16\n\
                CreateTimeout=8 MaxRetries=0 Prepare=ALL PrepareWait=7 PrepareMax=5 RemoveWait=0 MaxConcurrentCreates=9\n\
                ReconcileInterval=5 RemoveUnknown=1 OnPartitionError=Requeue Accounting=BOTH AccountingSteps=yes AuditLevel=Admin AuditTo=Syslog MaxKeep=900 MinKeep=60 MaxRequeues=0 RequeuePause=5-80\n\
                KeepIdle=600 KeepIdleFor=Any-Job KeepIdleMax=32 ReuseReset=Other-Users Mode=PARTITION\n\
                ApiTlsCa=/ca.pem ApiTlsServerName=vipu ApiTlsCert=/c.pem ApiTlsKey=/k.pem ApiAccessFile=/access\n\
                ApiUserIdMetadata=x-user ApiAccessKeyMetadata=x-key";
    let settings = parse(text).unwrap();
    let expected = Settings {
        controllers: vec![controller("[::1]:1"), controller("vipu2:8091")],
        api_port: 1,
        delivery: Delivery::File,
        ipuof_dir: Some("/with blank".into()),
        status_dir: None,
        status_group: None,
        max_ipus_per_job: 100,
        max_ipus_in_slurm_partition: [("debug".to_owned(), 8)].into(),
        max_ipus_in_qos: [("low".to_owned(), 4), ("normal".to_owned(), 64)].into(),
        size_policy: SizePolicy::RoundUp,
        ipus_per_slurm_partition: [("debug".to_owned(), 16)].into(),
        api_timeout: Duration::from_secs(7),
        force_delete_partition: true,
        use_reconfig_partition: true,
        layer: Some(Layer::Linear),
        admin_socket: Some(AdminSocket::At("/run/a".into())),
        partition_prefix: "c2".into(),
        allocation: Some("alloc-1".into()),
        placement: Placement::Controller,
        cluster: Some("c64".into()),
        allocation_agents: vec!["ag1".into(), "ag2".into()],
        link_domain_size: 16.try_into().unwrap(),
        create_timeout: Duration::from_secs(8),
        max_retries: 0,
        prepare: Prepare::All,
        prepare_wait: Duration::from_secs(7),
        prepare_max: 5,
        remove_wait: Duration::ZERO,
        reconcile_interval: Duration::from_secs(5),
        remove_unknown: true,
        on_partition_error: OnPartitionError::Requeue,
        accounting: Accounting::Both,
        accounting_steps: true,
        audit_level: AuditLevel::Admin,
        audit_to: AuditTo::Syslog,
        max_keep: Duration::from_secs(900),
        min_keep: Duration::from_secs(60),
        keep_idle: Duration::from_secs(600),
        keep_idle_max: Some(32),
        keep_idle_for: KeepIdleFor::AnyJob,
        reuse_reset: ReuseReset::OtherUsers,
        mode: Mode::Partition,
        pool: None,
        nodes: Default::default(),
        shared_partition: None,
        host_map: None,
        whole_times: WeeklyTimes::default(),
        max_requeues: 0,
        requeue_pause: "5-80".parse().unwrap(),
        max_concurrent_creates: 9,
        api_tls_ca: Some("/ca.pem".into()),
        api_tls_server_name: Some("vipu".into()),
        api_tls_cert: Some("/c.pem".into()),
        api_tls_key: Some("/k.pem".into()),
        api_access_file: Some("/access".into()),
        api_user_id_metadata: "x-user".into(),
        api_access_key_metadata: "x-key".into(),
    };
    assert_eq!(settings, expected);
    let identity = Some(TlsIdentity { certificate: "/c.pem".into(), key: "/k.pem".into() });
    let tls = Tls { ca: "/ca.pem".into(), server_name: Some("vipu".into()), identity };
    assert_eq!(settings.tls(), Some(tls));
    let access = Access {
        file: "/access".into(),
        user_id_metadata: "x-user".into(),
        access_key_metadata: "x-key".into(),
    };
    assert_eq!(settings.access(), Some(access));
}

#[test]
fn the_table_tells_required_keys_and_valid_defaults() {
    let required: Vec<_> = KEYS.iter().filter(|key| key.preset == Preset::Required).collect();
    assert_eq!(required.iter().map(|key| key.name).collect::<Vec<_>>(), ["ApiHost"]);
    let mut spelled = MINIMAL.to_owned();
    for key in KEYS {
        if let Preset::Value(value) = key.preset {
            spelled.push_str(&format!("{}={value}\n", key.name));
        }
    }
    let minimal = parse(MINIMAL).unwrap();
    assert_eq!((minimal.tls(), minimal.access()), (None, None));
    assert_eq!(parse(&spelled), Ok(minimal));
}

#[test]
fn only_delivery_by_file_needs_a_directory() {
    for (text, delivery) in
        [("ApiHost=x Delivery=api", Delivery::Api), ("ApiHost=x Delivery=Node", Delivery::Node)]
    {
        let without = parse(text).unwrap();
        assert_eq!((without.delivery, &without.ipuof_dir), (delivery, &None));
        assert_eq!(parse(&format!("{text} IpuofDir=/left/over")).unwrap(), without);
        assert!(parse(&format!("{text} IpuofDir=relative")).is_err());
    }
    for text in ["ApiHost=x", "ApiHost=x Delivery=file"] {
        let broken = parse(text).unwrap_err();
        // A missing key has no place in the file.
        let words = "IpuofDir is missing: add IpuofDir=<absolute path>";
        assert!(broken.to_string().starts_with(&format!("/etc/slurm/vipu.conf: {words}")), "{broken}");
        assert!(broken.one_line().starts_with(&format!("vipu.conf: {words}")), "{broken}");
    }
    let told = parse("ApiHost=x Delivery=post").unwrap_err().to_string();
    assert!(
        told.contains("Delivery=post: not a delivery (file, api, node)") && !told.contains("missing"),
        "{told}"
    );
}

#[test]
fn a_wrong_value_is_shown_with_line_and_caret() {
    let broken = parse("ApiHost=vipu\n\n\tIpuofDir=/x  ApiPort=9x # port\n").unwrap_err();
    assert_eq!(
        broken.to_string(),
        "/etc/slurm/vipu.conf:3:23: ApiPort=9x: not a port (1-65535)\n \
         3 |  IpuofDir=/x  ApiPort=9x # port\n   \
           |                       ^^"
    );
    assert_eq!(broken.one_line(), "vipu.conf:3: ApiPort=9x: not a port (1-65535)");
}

#[test]
fn all_problems_are_told_in_the_order_of_the_file() {
    let broken = parse("Layer=cons_res\nApiPrt=1\nLayer=linear\nApiTimeout=0\noops\n").unwrap_err();
    let told: Vec<_> = broken.problems.iter().map(|problem| problem.reason.to_string()).collect();
    assert_eq!(
        told,
        [
            "Layer=cons_res: not a layer (cons_tres, linear)",
            "unknown key 'ApiPrt': did you mean ApiPort?",
            "Layer is given twice, first in line 1",
            "ApiTimeout=0: not a time (1-86400 seconds)",
            "'oops' has no value: write oops=<value>",
            "ApiHost is missing: add ApiHost=<host name or address> (the V-IPU controller; or several, \
             tried in this order: `host,host:port,...`)",
            "IpuofDir is missing: add IpuofDir=<absolute path> (shared directory for the IPUoF config \
             files: SlurmUser writes it, all nodes read it)",
        ]
    );
    let line = broken.one_line();
    assert_eq!(line, "vipu.conf:1: Layer=cons_res: not a layer (cons_tres, linear) (and 6 more errors)");
}

#[test]
fn a_file_of_another_kind_is_one_problem() {
    for (text, told) in [
        (
            "# ours\nClusterName=c\nSlurmUser=slurm\nPartitionName=p Nodes=ALL\n",
            "2: ClusterName belongs into slurm.conf,",
        ),
        ("VipuApiHost=a VipuIpuofDir=/x\nNODENAME=n1\n", "2: NodeName belongs into slurm.conf,"),
        ("NodeName=n1 Name=gpu File=/dev/gpu0\n", "1: Name belongs into gres.conf,"),
        ("required spank_ipuof.so ipuof_dir=/x\n", "1: required belongs into plugstack.conf,"),
    ] {
        let broken = parse(text).unwrap_err();
        let rest = "and there is no ApiHost: this is no file of slurm-vipu; svipu doctor checks";
        assert!(broken.one_line().starts_with(&format!("vipu.conf:{told} {rest} ")), "{broken}");
    }
    let broken = parse(&format!("{MINIMAL}SelectType=select/vipu\n")).unwrap_err();
    assert_eq!(broken.one_line(), "vipu.conf:3: unknown key 'SelectType'");
}

#[test]
fn a_tls_key_that_means_nothing_alone_names_the_missing_key() {
    for (keys, told) in [
        (
            "ApiTlsCert=/c ApiTlsKey=/k",
            "ApiTlsCert=/c: means nothing alone: give ApiTlsCa too (and 1 more error)",
        ),
        ("ApiTlsServerName=x", "ApiTlsServerName=x: means nothing alone: give ApiTlsCa too"),
        ("ApiTlsCa=/ca ApiTlsCert=/c", "ApiTlsCert=/c: means nothing alone: give ApiTlsKey too"),
        ("ApiTlsCa=/ca ApiTlsKey=/k", "ApiTlsKey=/k: means nothing alone: give ApiTlsCert too"),
        ("ApiTlsCa=ca.pem", "ApiTlsCa=ca.pem: not an absolute path (/...)"),
        ("ApiAccessFile=access", "ApiAccessFile=access: not an absolute path (/...)"),
    ] {
        let broken = parse(&format!("{MINIMAL}{keys}")).unwrap_err();
        assert_eq!(broken.one_line(), format!("vipu.conf:3: {told}"));
    }
}

#[test]
fn a_synonym_and_its_key_are_the_same_key() {
    let broken = parse(&format!("{MINIMAL}VipuIpuofDir=/y")).unwrap_err();
    assert_eq!(broken.one_line(), "vipu.conf:3: IpuofDir is given twice, first in line 2");
}

#[test]
fn nothing_of_the_file_upsets_a_terminal() {
    let long = "x".repeat(5000);
    for text in ["ApiHost=\u{1b}[2J", "\u{7}=1", &format!("{long}=1 ApiPort=0")] {
        let broken = parse(text).unwrap_err();
        for shown in [broken.to_string(), broken.one_line().into()] {
            assert!(shown.lines().all(|line| line.len() < 400), "{shown}");
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}

proptest! {
    #[test]
    fn layout_means_nothing(
        order in Just(vec!["apihost=h", "IPUOFDIR=/d", "ApiPort=9", "Layer=linear"]).prop_shuffle(),
        gaps in proptest::collection::vec(prop_oneof![
            Just(" "), Just("\n"), Just("\r\n"), Just(" \\\n"), Just(" # c\n"), Just("\n#\n\n")
        ], 4),
    ) {
        let text: String = order.iter().zip(gaps).flat_map(|(pair, gap)| [*pair, gap]).collect();
        prop_assert_eq!(parse(&text), parse("ApiHost=h\nIpuofDir=/d\nApiPort=9\nLayer=linear"), "{:?}", text);
    }
}
