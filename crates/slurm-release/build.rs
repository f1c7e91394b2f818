//! Turns `layouts.json` into Rust: one `Layout` per distinct struct layout, one `Release` per Slurm release.
//!
//! It takes only the members and constants that the plugins use. The JSON has more.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a build script reports by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

/// The struct members the plugins read or write, by the names of Slurm's own headers.
const MEMBERS: &[(&str, &str)] = &[
    (
        "job_record",
        "magic job_id user_id partition batch_flag job_state state_reason state_desc system_comment \
         details job_resrcs alloc_resp_port tres_per_node tres_per_job tres_per_task node_bitmap \
         node_bitmap_cg het_job_id restart_cnt start_time end_time time_limit priority bit_flags \
         preempt_time prep_epilog_cnt epilog_running part_ptr qos_ptr resv_name user_name spank_job_env \
         spank_job_env_size array_recs exit_code batch_host step_list deadline array_job_id array_task_id het_job_offset het_job_list \
         name account licenses burst_buffer_state gres_list_req gres_list_alloc tres_req_cnt tres_alloc_cnt limit_set.tres",
    ),
    ("job_details", "magic prolog_running env_sup env_cnt begin_time requeue submit_time whole_node"),
    ("job_resources", "node_bitmap"),
    ("node_record", "magic name gres config_ptr node_state protocol_version"),
    ("config_record", "magic gres"),
    ("gres_state", "plugin_id gres_data"),
    ("gres_job_state", "type_name total_gres gres_cnt_node_alloc node_cnt"),
    (
        "step_record",
        "job_ptr name start_time time_limit state requid tres_alloc_str step_id.job_id step_id.step_het_comp \
         step_id.step_id",
    ),
    ("gres_slurmd_conf", "count file name type_name plugin_id"),
    ("part_record", "magic name max_time priority_tier node_bitmap"),
    ("qos_rec", "name"),
    (
        "slurm_conf",
        "plugindir slurm_conf select_type select_type_param state_save_location sched_params plugstack \
         slurmctld_params private_data slurmctld_pidfile cluster_name slurm_user_id licenses batch_start_timeout",
    ),
    (
        "job_desc_msg",
        "tres_per_node tres_per_job tres_per_task tres_per_socket partition qos reservation script \
         licenses spank_job_env spank_job_env_size min_nodes max_nodes shared het_job_offset",
    ),
    ("slurmctld_lock", "conf job node part fed"),
    ("slurmctld_resv", "magic licenses start_time end_time"),
    ("slurmctld_config", "shutdown_time"),
    ("slurm_msg", "msg_type protocol_version"),
];

/// The structs that a table file may lack, because an older slurm-vipu measured it. The plugins then do
/// without them.
const OPTIONAL: &[&str] = &["slurmctld_resv", "slurmctld_config", "slurm_msg"];

/// Constants of Slurm's headers; those that every release shares become plain constants.
const CONSTANTS: &str = "\
    JOB_MAGIC DETAILS_MAGIC NODE_MAGIC CONFIG_MAGIC PART_MAGIC JOB_STATE_BASE JOB_PENDING JOB_RUNNING \
    JOB_SUSPENDED JOB_COMPLETE JOB_CANCELLED JOB_FAILED JOB_TIMEOUT JOB_NODE_FAIL JOB_BOOT_FAIL JOB_DEADLINE JOB_OOM \
    JOB_REQUEUE_HOLD JOB_CONFIGURING JOB_COMPLETING SELECT_MODE_BASE SELECT_MODE_RUN_NOW \
    SELECT_MODE_TEST_ONLY SELECT_MODE_WILL_RUN SELECT_MODE_PREEMPT_FLAG SELECT_MODE_CHECK_FULL NO_LOCK \
    READ_LOCK WRITE_LOCK WAIT_NO_REASON WAIT_HELD_USER WAIT_PRIORITY WAIT_RESOURCES WAIT_LICENSES WAIT_NODE_NOT_AVAIL \
    WAIT_BURST_BUFFER_RESOURCE WAIT_BURST_BUFFER_STAGING \
    BACKFILL_TEST TEST_NOW_ONLY PREEMPT_MODE_REQUEUE PREEMPT_MODE_CANCEL NO_VAL INFINITE WHOLE_NODE_REQUIRED \
    NODE_STATE_BASE NODE_STATE_DOWN NODE_STATE_POWERED_DOWN ESLURM_NODES_BUSY ESLURM_INVALID_GRES ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE";

fn main() {
    println!("cargo::rerun-if-changed=layouts.json");
    let text = std::fs::read_to_string("layouts.json").expect("layouts.json is part of this crate");
    let table: Value = serde_json::from_str(&text).expect("layouts.json is JSON");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("table.rs"), generate(&table)).expect("OUT_DIR is writable");
}

fn generate(table: &Value) -> String {
    let mut code = String::new();
    let layouts = object(&table["layouts"]);
    for (name, members) in MEMBERS {
        struct_type(&mut code, table, name, members);
    }
    layout_type(&mut code);
    layout_from_parts(&mut code);
    structs(&mut code, table);
    constants(&mut code, &layouts);
    for (id, layout) in &layouts {
        layout_value(&mut code, id, layout);
    }
    releases(&mut code, table);
    sonames(&mut code, table);
    code
}

fn struct_type(code: &mut String, table: &Value, name: &str, members: &str) {
    let type_name = camel(name);
    let c_type = table["types"][name].as_str().unwrap_or(name);
    writeln!(code, "/// Where the members of `{c_type}` are.\n#[derive(Debug, PartialEq, Eq)]").unwrap();
    writeln!(code, "pub struct {type_name} {{").unwrap();
    writeln!(code, "/// Size of the struct in bytes.\npub size: u16,").unwrap();
    for member in members.split(' ') {
        let kind = table["kinds"][name][member].as_str().unwrap_or_else(|| panic!("kind of {name}.{member}"));
        writeln!(code, "/// `{member}`.\npub {}: Field<{}>,", identifier(member), rust_kind(kind)).unwrap();
    }
    writeln!(code, "}}").unwrap();
}

fn layout_type(code: &mut String) {
    writeln!(
        code,
        "/// All struct layouts of a release.\n#[derive(Debug, PartialEq, Eq)]\npub struct Layout {{"
    )
    .unwrap();
    for (name, _) in MEMBERS {
        let kind = camel(name);
        match is_optional(name) {
            true => {
                writeln!(code, "/// Members of `{name}`, if they are known.\npub {name}: Option<{kind}>,")
            }
            false => writeln!(code, "/// Members of `{name}`.\npub {name}: {kind},"),
        }
        .unwrap();
    }
    writeln!(code, "}}").unwrap();
}

fn constants(code: &mut String, layouts: &BTreeMap<String, Value>) {
    for name in CONSTANTS.split(' ') {
        let mut values = layouts.values().map(|layout| layout["constants"][name].as_u64());
        let first = values.next().flatten().unwrap_or_else(|| panic!("constant {name}"));
        assert!(
            values.all(|value| value == Some(first)),
            "{name} differs between releases: put it in Layout"
        );
        writeln!(code, "/// `{name}` of Slurm's headers, the same in every known release.").unwrap();
        writeln!(code, "pub const {name}: u32 = {first};").unwrap();
    }
    let entries: Vec<_> = CONSTANTS.split(' ').map(|name| format!("({name:?}, {name})")).collect();
    writeln!(
        code,
        "/// The constants above by their names.\npub static CONSTANTS: &[(&str, u32)] = &[{}];",
        entries.join(", ")
    )
    .unwrap();
}

/// Writes `Layout::from_parts`, which makes a layout from numbers that it asks for by name, as a table file has them.
fn layout_from_parts(code: &mut String) {
    writeln!(
        code,
        "impl Layout {{
        pub(crate) fn from_parts<E>(
            size: impl Fn(&'static str) -> Result<u16, E>,
            offset: impl Fn(&'static str, &'static str) -> Result<u16, E>,
        ) -> Result<Self, E> {{ Ok(Self {{"
    )
    .unwrap();
    for (name, members) in MEMBERS {
        let (kind, optional) = (camel(name), is_optional(name));
        match optional {
            true => writeln!(
                code,
                "{name}: match size({name:?}) {{ Err(_) => None, Ok(size) => Some({kind} {{ size,"
            ),
            false => writeln!(code, "{name}: {kind} {{ size: size({name:?})?,"),
        }
        .unwrap();
        for member in members.split(' ') {
            writeln!(code, "{}: Field::at(offset({name:?}, {member:?})?),", identifier(member)).unwrap();
        }
        writeln!(code, "{}", if optional { "}) }," } else { "}," }).unwrap();
    }
    writeln!(code, "}}) }} }}").unwrap();
}

/// Writes the names of all measured structs and members, for the measurement of another release.
fn structs(code: &mut String, table: &Value) {
    writeln!(
        code,
        "/// The structs of Slurm that the plugins read or write.\npub static STRUCTS: &[Struct] = &["
    )
    .unwrap();
    for (name, members) in MEMBERS {
        let c_type = table["types"][name].as_str().expect("a C type for each struct");
        let c_type = c_type.split(' ').next().unwrap_or(c_type);
        writeln!(code, "Struct {{ name: {name:?}, c_type: {c_type:?}, members: &[").unwrap();
        for member in members.split(' ') {
            let kind = table["kinds"][name][member].as_str().expect("a kind for each member");
            writeln!(code, "({member:?}, {kind:?}),").unwrap();
        }
        writeln!(code, "] }},").unwrap();
    }
    writeln!(code, "];").unwrap();
}

fn layout_value(code: &mut String, id: &str, layout: &Value) {
    writeln!(code, "static {id}: Layout = Layout {{").unwrap();
    for (name, members) in MEMBERS {
        let (size, optional) = (&layout[name]["size"], is_optional(name));
        if optional && size.is_null() {
            writeln!(code, "{name}: None,").unwrap();
            continue;
        }
        let begin = if optional { "Some(" } else { "" };
        writeln!(code, "{name}: {begin}{} {{ size: {size},", camel(name)).unwrap();
        for member in members.split(' ') {
            let offset = layout[name]["fields"][member][0]
                .as_u64()
                .unwrap_or_else(|| panic!("{name}.{member} is not in layout {id}"));
            writeln!(code, "{}: Field::at({offset}),", identifier(member)).unwrap();
        }
        writeln!(code, "{}", if optional { "})," } else { "}," }).unwrap();
    }
    writeln!(code, "}};").unwrap();
}

fn releases(code: &mut String, table: &Value) {
    let numbers = object(&table["version_numbers"]);
    let mut rows: Vec<_> = object(&table["releases"])
        .into_iter()
        .map(|(name, layout)| {
            let number = numbers[&name].as_u64().expect("a number per release");
            (number, name, layout.as_str().expect("a layout per release").to_owned())
        })
        .collect();
    rows.sort();
    writeln!(
        code,
        "/// Every release whose layouts are known, oldest first.\npub static RELEASES: &[Release] = &["
    )
    .unwrap();
    for (number, name, layout) in rows {
        writeln!(code, "Release {{ version: Version({number:#08x}), layout: &{layout} }}, // {name}")
            .unwrap();
    }
    writeln!(code, "];").unwrap();
}

fn sonames(code: &mut String, table: &Value) {
    writeln!(code, "static SERIES: &[(u32, Series)] = &[").unwrap();
    for (series, soname) in object(&table["libslurm_soname"]) {
        let (major, minor) = series.split_once('.').expect("series is major.minor");
        let (major, minor): (u8, u8) = (major.parse().unwrap(), minor.parse().unwrap());
        writeln!(code, "({soname}, Series::new({major}, {minor})),").unwrap();
    }
    writeln!(code, "];").unwrap();
}

fn object(value: &Value) -> BTreeMap<String, Value> {
    value.as_object().expect("an object").iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn is_optional(name: &str) -> bool {
    OPTIONAL.contains(&name)
}

/// The name in Rust of a member, which may be in an embedded struct: `limit_set.tres` is `limit_set_tres`.
fn identifier(member: &str) -> String {
    member.replace('.', "_")
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

fn rust_kind(kind: &str) -> &str {
    match kind {
        "str" => "Text",
        "strs" => "Texts",
        "ptr" => "Ptr",
        scalar @ ("u8" | "u16" | "u32" | "u64" | "i64" | "bool") => scalar,
        other => panic!("no Rust kind for {other}"),
    }
}
