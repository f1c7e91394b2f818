//! The text of `scontrol show assoc_mgr`. It is alike from Slurm 22.05 to 26.05.

use serde::Serialize;

/// The words for limits on TRES: here, and in sacctmgr.
const WORDS: [(&str, &str); 11] = [
    ("GrpTRES", "GrpTRES"),
    ("GrpTRESMins", "GrpTRESMins"),
    ("GrpTRESRunMins", "GrpTRESRunMins"),
    ("MaxTRESPJ", "MaxTRESPerJob"),
    ("MaxTRESPN", "MaxTRESPerNode"),
    ("MaxTRESMinsPJ", "MaxTRESMinsPerJob"),
    ("MinTRESPJ", "MinTRESPerJob"),
    ("MaxTRESPA", "MaxTRESPerAccount"),
    ("MaxTRESRunMinsPA", "MaxTRESRunMinsPerAccount"),
    ("MaxTRESPU", "MaxTRESPerUser"),
    ("MaxTRESRunMinsPU", "MaxTRESRunMinsPerUser"),
];

/// The holder of limits. The names of members are those in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Holder {
    Account {
        account: String,
        #[serde(skip)]
        parent: Option<String>,
    },
    User {
        user: String,
        #[serde(skip)]
        uid: u32,
        account: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        slurm_partition: Option<String>,
    },
    Qos {
        qos: String,
    },
    AccountInQos {
        qos: String,
        account: String,
    },
    UserInQos {
        qos: String,
        #[serde(skip)]
        uid: u32,
    },
}

impl Holder {
    /// The account above this account or user.
    pub(super) fn above(&self) -> Option<&str> {
        match self {
            Self::Account { parent, .. } => parent.as_deref(),
            Self::User { account, .. } => Some(account),
            _ => None,
        }
    }

    /// Whether this is the account of this name.
    pub(super) fn is_account(&self, name: Option<&str>) -> bool {
        matches!(self, Self::Account { account, .. } if Some(account.as_str()) == name)
    }

    /// Whether both are accounts, or both are users, in the same QOS.
    pub(super) fn is_alike_in_qos(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AccountInQos { qos, .. }, Self::AccountInQos { qos: other, .. })
            | (Self::UserInQos { qos, .. }, Self::UserInQos { qos: other, .. }) => qos == other,
            _ => false,
        }
    }
}

/// A TRES of IPUs under a word for limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// The word in sacctmgr.
    pub(super) word: &'static str,
    /// Its name in slurm.conf.
    pub(super) tres: String,
    /// None if there is no limit.
    pub(super) value: Option<u64>,
    /// None if Slurm tells no use: that of a job is its own.
    pub(super) used: Option<u64>,
}

/// A holder with its TRES of IPUs, whether they have a limit or not.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) holder: Holder,
    pub(super) limits: Vec<Limit>,
}

/// The records of the text.
pub(super) fn parse(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let (mut qos, mut before) = (String::new(), "");
    for line in text.lines().map(str::trim) {
        let holder = association(line).or_else(|| self::qos(line)).or_else(|| in_qos(&qos, before, line));
        if let Some(Holder::Qos { qos: name }) = &holder {
            qos.clone_from(name);
        }
        records.extend(holder.map(|holder| Record { holder, limits: Vec::new() }));
        if let Some(record) = records.last_mut() {
            if let Holder::Account { parent, .. } = &mut record.holder {
                *parent = parent.take().or_else(|| self::parent(line));
            }
            record.limits.extend(limits(line));
        }
        before = line;
    }
    records
}

/// The associations of a user.
pub(super) fn of_user<'a>(records: &'a [Record], user: &str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| {
        matches!(&record.holder, Holder::User { user: name, .. } if name.eq_ignore_ascii_case(user))
    })
}

/// The model of the IPUs that a TRES counts, or nothing if it counts those of all models. None for another TRES.
pub(super) fn model_of(tres: &str) -> Option<&str> {
    match tres {
        "gres/vipu" | "license/vipu" => Some(""),
        _ => tres.strip_prefix("gres/vipu:").or_else(|| tres.strip_prefix("license/vipu_")),
    }
}

/// `ClusterName=linux Account=lab UserName=alice(1000) Partition=ipu Priority=0 ID=5`; an account has no user.
fn association(line: &str) -> Option<Holder> {
    let (account, rest) =
        line.strip_prefix("ClusterName=")?.split_once(" Account=")?.1.split_once(" UserName=")?;
    let (user, rest) = rest.split_once(" Partition=")?;
    let (slurm_partition, _) = rest.split_once(" Priority=")?;
    if user.trim().is_empty() {
        return Some(Holder::Account { account: account.to_owned(), parent: None });
    }
    Some(Holder::User {
        user: before_id(user)?.to_owned(),
        uid: id(user)?,
        account: account.to_owned(),
        slurm_partition: Some(slurm_partition.to_owned()).filter(|name| !name.is_empty()),
    })
}

/// `ParentAccount=science(3) Lft=3 DefAssoc=No`; the first account has no parent.
fn parent(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("ParentAccount=")?.split_once('(')?;
    Some(name.to_owned())
}

/// `QOS=normal(1)`
fn qos(line: &str) -> Option<Holder> {
    Some(Holder::Qos { qos: before_id(line.strip_prefix("QOS=")?)?.to_owned() })
}

/// The name of an account, or a user as `1000` and since 23.11 as `alice(1000)`, is in the line before.
fn in_qos(qos: &str, before: &str, line: &str) -> Option<Holder> {
    let qos = qos.to_owned();
    if line.starts_with("MaxJobsPA=") {
        return Some(Holder::AccountInQos { qos, account: before.to_owned() });
    }
    let uid = before.parse().ok().or_else(|| id(before)).filter(|_| line.starts_with("MaxJobsPU="));
    Some(Holder::UserInQos { qos, uid: uid? })
}

fn before_id(text: &str) -> Option<&str> {
    Some(text.rsplit_once('(')?.0)
}

fn id(text: &str) -> Option<u32> {
    text.rsplit_once('(')?.1.strip_suffix(')')?.parse().ok()
}

/// `GrpTRES=cpu=N(1),gres/vipu=64(16),gres/vipu:pod64=N(16)`, or without the use `MaxTRESPJ=gres/vipu=16`.
fn limits(line: &str) -> Vec<Limit> {
    let named =
        |(short, word): &(&str, &'static str)| Some((*word, line.strip_prefix(short)?.strip_prefix('=')?));
    let Some((word, list)) = WORDS.iter().find_map(named) else { return Vec::new() };
    let limit = |one: &str| {
        let (tres, numbers) = one.split_once('=')?;
        let (value, used) = match numbers.split_once('(') {
            Some((value, used)) => (value, Some(used.strip_suffix(')')?.parse().ok()?)),
            None => (numbers, None),
        };
        model_of(tres)?;
        Some(Limit { word, tres: tres.to_owned(), value: value.parse().ok(), used })
    };
    list.split(',').filter_map(limit).collect()
}
