//! `svipu limits`: the limits of Slurm's accounting on a user's IPUs, and their use.
//!
//! It asks slurmctld: scontrol makes one call.

mod assoc_mgr;

use serde::Serialize;
use vipu_status::Status;

use crate::arguments::Common;
use crate::error::Failure;
use crate::surroundings::Surroundings;
use crate::table::{self, Column};
use crate::view::{Selection, View, blank_page};
use crate::{Output, safe, slurm_command};
use assoc_mgr::{Holder, Limit, Record, model_of, of_user};
use vipu_types::{Words, words};

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    user: &'a str,
    limits: &'a [&'a Row],
}

type Of = Column<Row>;

const COLUMNS: &[Column<Row>] = &[
    Of::new("where", "WHERE", 60, |row, _| row.place()),
    Of::new("limit", "LIMIT", 24, |row, _| row.limit.to_owned()),
    Of::new("tres", "TRES", 40, |row, _| row.tres.clone()),
    Of::new("value", "VALUE", 20, |row, _| row.value.to_string()).on_the_right(),
    Of::new("used", "USED", 20, |row, _| row.used.map(|used| used.to_string()).unwrap_or_default())
        .on_the_right(),
    Of::new("left", "LEFT", 40, |row, _| row.left()).on_the_right(),
];

/// The page of the command.
pub(crate) fn show(
    name: Option<&str>,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let user = user(name.or(common.user.as_deref()), surroundings)?;
    let records = assoc_mgr::parse(&ask(&user, surroundings)?);
    check(&records, &user)?;
    let rows = rows(&records, &user);
    let is_chosen = |row: &&Row| match (model_of(&row.tres), &common.model) {
        (None | Some(""), _) | (_, None) => true,
        (Some(model), Some(chosen)) => model == chosen,
    };
    let rows: Vec<_> = rows.iter().filter(is_chosen).collect();
    for unknown in [unseen(&records), hidden(&records, &user)].into_iter().flatten() {
        output.stderr += &format!("svipu: {}\n", safe::cut(&unknown, safe::LINE));
    }
    if common.json {
        return Ok(serde_json::to_string_pretty(&Answer { user: &user, limits: &rows })? + "\n");
    }
    let mut page = blank_page(common, surroundings);
    if rows.is_empty() {
        let of =
            common.model.as_ref().map(|model| format!(" of {}", safe::cut(model, 30))).unwrap_or_default();
        page.paragraph(&format!("{} has no limit of Slurm's accounting on IPUs{of}.", safe::cut(&user, 40)));
        return Ok(page.finish());
    }
    // A table takes the options and the names of users from a view. There is no document here.
    let status = Status::default();
    let view = View::of(Selection::of_user(None), &status, common, surroundings);
    table::add(&mut page, &view, COLUMNS, &rows)?;
    Ok(page.finish())
}

/// The name of the user: accounting knows users by name.
fn user(given: Option<&str>, surroundings: &Surroundings) -> Result<String, Failure> {
    let Some(given) = given else {
        let own = surroundings.users.name(surroundings.user);
        return own.ok_or_else(|| Failure::Words("this host does not know your name: give it".into()));
    };
    let id = given.parse().ok().filter(|_| surroundings.users.id(given).is_none());
    Ok(id.and_then(|id| surroundings.users.name(id)).unwrap_or_else(|| given.to_owned()))
}

/// The records of slurmctld, with the associations of one user.
fn ask(user: &str, surroundings: &Surroundings) -> Result<String, Failure> {
    let mut scontrol = slurm_command::of("scontrol", surroundings);
    scontrol.args(["show", "assoc_mgr", "flags=assoc,qos", &format!("users={user}")]);
    let output = slurm_command::output(&mut scontrol)?;
    if output.status.success() && !output.stdout.is_empty() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(refusal(errors.trim().lines().last().unwrap_or("it printed nothing")).into())
}

fn refusal(error: &str) -> Words {
    // 22.05 sends an empty answer, later releases an error.
    let is_hidden = ["Unspecified error", "Invalid user id"].iter().any(|words| error.ends_with(words));
    let why = if is_hidden { "; with PrivateData, only users with an association get an answer" } else { "" };
    let error = error.rsplit_once("error: ").map_or(error, |(_, error)| error);
    words!("scontrol show assoc_mgr failed: {error}{why}")
}

/// Checks that the records can tell the limits of the user.
fn check(records: &[Record], user: &str) -> Result<(), Failure> {
    if records.is_empty() {
        return Err(Failure::Words(
            "slurmctld knows no associations and no QOS: limits need AccountingStorageType=accounting_storage/slurmdbd"
                .into(),
        ));
    }
    if records.iter().all(|record| record.limits.is_empty()) {
        let why = "Slurm's accounting does not count IPUs: AccountingStorageTRES in slurm.conf has neither gres/vipu nor license/vipu";
        return Err(Failure::Words(why.into()));
    }
    match of_user(records, user).next() {
        Some(_) => Ok(()),
        None => Err(Failure::Unknown {
            kind: "user",
            name: safe::cut(user, 40),
            known: "it has no association in Slurm's accounting, or PrivateData hides it".to_owned(),
        }),
    }
}

/// The QOS of which slurmctld shows no limits per user and account.
fn unseen(records: &[Record]) -> Option<String> {
    let is_seen = |name: &str| {
        records.iter().any(|record| matches!(&record.holder, Holder::UserInQos { qos, .. } if qos == name))
    };
    let names = records.iter().filter_map(|record| match &record.holder {
        Holder::Qos { qos } if !is_seen(qos) => Some(safe::cut(qos, 30)),
        _ => None,
    });
    let names = names.collect::<Vec<_>>().join(",");
    (!names.is_empty()).then(|| {
        format!("slurmctld tells limits per user and account only of a QOS with jobs since its start: see sacctmgr show qos {names}")
    })
}

/// The account of which slurmctld does not show the association to the caller.
fn hidden(records: &[Record], user: &str) -> Option<String> {
    let is_shown = |name: &str| records.iter().any(|record| record.holder.is_account(Some(name)));
    let name =
        of_user(records, user).filter_map(|record| record.holder.above()).find(|name| !is_shown(name))?;
    Some(format!("PrivateData hides the limits of account {} and its parents", safe::cut(name, 40)))
}

/// A limit with its use.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    holder: Holder,
    /// The word in sacctmgr.
    limit: &'static str,
    tres: String,
    value: u64,
    used: Option<u64>,
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
    fn place(&self) -> String {
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
    fn left(&self) -> String {
        match self.left {
            None => String::new(),
            Some(left) if left >= 60 && self.limit.contains("Mins") => format!("{left} ({} h)", left / 60),
            Some(left) => left.to_string(),
        }
    }
}

/// The limits of all QOS, of the user's associations, and of the accounts above them.
fn rows(records: &[Record], user: &str) -> Vec<Row> {
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
