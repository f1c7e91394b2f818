//! The limits that hold for the jobs of a user.

use serde::Serialize;

use super::assoc_mgr::{Holder, Limit, Record, of_user};
use crate::safe;

/// A limit with its use.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    holder: Holder,
    /// The word in sacctmgr.
    pub(super) limit: &'static str,
    pub(super) tres: String,
    pub(super) value: u64,
    pub(super) used: Option<u64>,
    left: Option<u64>,
}

impl Row {
    /// The rows of a holder. A TRES without a limit has none.
    fn all(holder: &Holder, limits: &[Limit]) -> Vec<Self> {
        let row = |limit: &Limit| {
            let Limit { word, ref tres, value, used } = *limit;
            let value = value?;
            let left = used.map(|used| value.saturating_sub(used));
            Some(Self { holder: holder.clone(), limit: word, tres: tres.clone(), value, used, left })
        };
        limits.iter().filter_map(row).collect()
    }

    /// The place of the limit in words.
    pub(super) fn place(&self) -> String {
        let cut = |name| safe::cut(name, 30);
        match &self.holder {
            Holder::Qos { qos } | Holder::UserInQos { qos, .. } => format!("QOS {}", cut(qos)),
            Holder::AccountInQos { qos, account } => format!("QOS {}, account {}", cut(qos), cut(account)),
            Holder::Account { account, .. } => format!("account {}", cut(account)),
            Holder::User { user, account, slurm_partition, .. } => {
                let within = slurm_partition.as_ref().map(|name| format!(", Slurm partition {}", cut(name)));
                format!("user {} in {}{}", cut(user), cut(account), within.unwrap_or_default())
            }
        }
    }

    /// What is left, for minutes also in hours.
    pub(super) fn left(&self) -> String {
        match self.left {
            None => String::new(),
            Some(left) if left >= 60 && self.limit.contains("Mins") => format!("{left} ({} h)", left / 60),
            Some(left) => left.to_string(),
        }
    }
}

/// The limits of all QOS, of the user's associations, and of the accounts above them.
pub(super) fn all(records: &[Record], user: &str) -> Vec<Row> {
    let own: Vec<_> = of_user(records, user).map(|record| &record.holder).collect();
    let of = |record: &Record| Row::all(&record.holder, &record.limits);
    let mut rows = Vec::new();
    for record in records {
        let Holder::Qos { qos } = &record.holder else { continue };
        rows.extend(of(record));
        for holder in in_qos(qos, &own) {
            rows.extend(Row::all(&holder, &limits_in_qos(records, &holder)));
        }
    }
    rows.extend(of_user(records, user).flat_map(of));
    // The other limits of an account are in the associations of its users, too.
    rows.extend(accounts(records, &own).into_iter().flat_map(of).filter(|row| row.limit.starts_with("Grp")));
    rows
}

/// The user and his accounts as holders of limits in a QOS.
fn in_qos(qos: &str, own: &[&Holder]) -> Vec<Holder> {
    let mut holders = Vec::new();
    for association in own {
        let Holder::User { uid, account, .. } = association else { continue };
        let (qos, account) = (qos.to_owned(), account.clone());
        let both = [Holder::UserInQos { qos: qos.clone(), uid: *uid }, Holder::AccountInQos { qos, account }];
        holders.extend(both.into_iter().filter(|holder| !holders.contains(holder)).collect::<Vec<_>>());
    }
    holders
}

/// The limits of a user or an account in a QOS. They are those of all others, with a use of its own.
fn limits_in_qos(records: &[Record], holder: &Holder) -> Vec<Limit> {
    if let Some(record) = records.iter().find(|record| record.holder == *holder) {
        return record.limits.clone();
    }
    let other = records.iter().find(|record| record.holder.is_alike_in_qos(holder));
    let limits = other.into_iter().flat_map(|record| record.limits.clone());
    limits.map(|limit| Limit { used: Some(0), ..limit }).collect()
}

/// The accounts of the associations, and their parents.
fn accounts<'a>(records: &'a [Record], own: &[&'a Holder]) -> Vec<&'a Record> {
    let (mut below, mut found) = (own.to_vec(), Vec::new());
    let mut place = 0;
    while let Some(holder) = below.get(place) {
        let account = records.iter().find(|record| record.holder.is_account(holder.above()));
        if let Some(account) = account.filter(|account| !below.contains(&&account.holder)) {
            below.push(&account.holder);
            found.push(account);
        }
        place += 1;
    }
    found
}
