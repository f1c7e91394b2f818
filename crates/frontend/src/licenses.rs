//! The licence that Slurm counts for a job's IPUs (`Accounting=license` or `both`).
//!
//! Slurm takes a licence once per job, whatever the number of nodes. It gives the licence back when the job
//! leaves COMPLETING, and so when the partition is gone. `Licenses` of slurm.conf has `vipu_<model>` for one
//! model, or `vipu` for all.

use std::collections::BTreeMap;
use std::fmt;

use ledger::{LicenseReservation, LicenseReservations};
use vipu_types::{ModelName, Words, shown, words};

use crate::frontend::Frontend;
use crate::models::Models;
use crate::request::Resolved;
use crate::slurm::{SiteLicenses, Slurm};

/// The licence for all models, and the beginning of that for one model.
const ALL_MODELS: &str = "vipu";

/// A number of a licence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct License {
    name: String,
    count: u32,
}

impl License {
    /// The licence of a request. `None` if the model has none, or if the cluster does not define it.
    pub(crate) fn of(models: &Models, wanted: &Resolved, of_site: &str) -> Option<Self> {
        let name = name_of(models, &wanted.model, of_site)?;
        Some(Self { name, count: wanted.size.get() })
    }
}

impl fmt::Display for License {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.count)
    }
}

/// The licence that counts the IPUs of a model, of those that the cluster defines.
pub fn name_of(models: &Models, model: &ModelName, of_site: &str) -> Option<String> {
    let mut names = [of_model(model), ALL_MODELS.to_owned()].into_iter();
    let is_used = models.accounting(model).counts_license();
    names.find(|name| is_used && count_of(of_site, name).is_some())
}

/// The number of a licence in a list, such as `Licenses` of slurm.conf. `None` if the list has no such licence.
pub fn count_of(list: &str, name: &str) -> Option<u64> {
    let counts = elements(list).filter_map(|element| {
        let (own, count) = element.split_once(':').unwrap_or((element, "1"));
        (own == name).then(|| count.parse::<u64>().unwrap_or(0))
    });
    // Slurm adds up the elements of one name.
    counts.reduce(u64::saturating_add)
}

/// The reservations of each model's licence. A reservation of a licence that several models share says of no
/// model how many of its IPUs are kept free, and is left out.
pub(crate) fn reservations(models: &Models, site: &SiteLicenses) -> BTreeMap<ModelName, LicenseReservations> {
    let names = models.0.keys().filter_map(|model| Some((model, name_of(models, model, &site.all)?)));
    let names: Vec<_> = names.collect();
    let is_own = |name: &String| names.iter().filter(|(_, other)| other == name).count() == 1;
    let number = |list: &str, name: &str| Some(u32::try_from(count_of(list, name)?).unwrap_or(u32::MAX));
    let of_model = |(model, name): &(&ModelName, String)| {
        let reserved = site.reservations.iter().filter_map(|it| {
            let ipus = number(&it.licenses, name).filter(|ipus| *ipus > 0)?;
            Some(LicenseReservation { from: it.from, until: it.until, ipus })
        });
        let total = number(&site.all, name)?;
        Some(((*model).clone(), LicenseReservations { total, reserved: reserved.collect() }))
    };
    names.iter().filter(|(_, name)| is_own(name)).filter_map(of_model).collect()
}

fn of_model(model: &ModelName) -> String {
    format!("{ALL_MODELS}_{model}")
}

/// The elements of a list as Slurm reads it: `name`, or `name:count`.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ';']).map(str::trim).filter(|element| !element.is_empty())
}

fn name(element: &str) -> &str {
    element.split([':', '=']).next().unwrap_or(element)
}

/// The elements that are licences which slurm-vipu gives to jobs.
fn ours<'a>(models: &Models, list: &'a str) -> impl Iterator<Item = &'a str> {
    elements(list).filter(|element| is_ours(models, element))
}

/// Whether an element is a licence that slurm-vipu gives to jobs.
fn is_ours(models: &Models, element: &str) -> bool {
    models.0.keys().any(|model| has_license(models, model, name(element)))
}

/// Whether the IPUs of a model are counted as the licence of this name.
fn has_license(models: &Models, model: &ModelName, name: &str) -> bool {
    models.accounting(model).counts_license() && (name == ALL_MODELS || name == of_model(model))
}

/// The licences of a new job, if they differ from those that its user asks for.
///
/// # Errors
/// The user asks for this licence without IPUs, or with another number. Slurm cannot combine the licence with
/// alternatives.
pub(crate) fn of_new(models: &Models, asked: &str, own: Option<&License>) -> Result<Option<String>, Words> {
    let is_own = |element: &str| own.is_some_and(|own| element == own.to_string());
    // Slurm takes alternatives for one element.
    let mut each = elements(asked).flat_map(|element| element.split('|'));
    if let Some(element) = each.find(|element| is_ours(models, element) && !is_own(element)) {
        let mut counted = models.0.iter().filter(|(model, _)| has_license(models, model, name(element)));
        let form = match counted.all(|(_, model)| model.sizes.is_some()) {
            true => "vipu:<IPUs>:1",
            false => "vipu:<model>:<IPUs>",
        };
        return Err(words!(
            "vipu: the licence {} counts IPUs: ask for IPUs with --gres={form}, and leave out the licence",
            shown(element)
        ));
    }
    of_changed(models, asked, own)
}

/// The licences of a changed job, if they differ from those in the message or in the job's record.
///
/// Slurm asks with one message for all tasks of an array. The message may have the licence of another task.
///
/// # Errors
/// Slurm cannot combine the licence with alternatives.
pub(crate) fn of_changed(
    models: &Models,
    asked: &str,
    own: Option<&License>,
) -> Result<Option<String>, Words> {
    let complete = with_ours(models, asked, own.map(ToString::to_string));
    match own {
        None if ours(models, asked).next().is_none() => Ok(None),
        _ if complete == asked => Ok(None),
        Some(own) if asked.contains('|') => Err(words!(
            "vipu: this cluster counts IPUs as the licence {own}, which Slurm cannot combine with the alternatives in \
             {}: ask for one of them",
            shown(asked)
        )),
        _ => Ok(Some(complete)),
    }
}

/// The licences in the message about a job that has its nodes, if they have to be changed: what slurm-vipu gave
/// the job stays, whatever its user wants. Slurm would give a dropped licence to others.
pub(crate) fn of_running(models: &Models, asked: &str, of_job: &str) -> Option<String> {
    let given: Vec<_> = ours(models, of_job).map(str::to_owned).collect();
    let is_concerned = !given.is_empty() || ours(models, asked).next().is_some();
    let complete = with_ours(models, asked, given);
    (is_concerned && complete != asked).then_some(complete)
}

/// A list with these licences in place of those that slurm-vipu gave before.
fn with_ours(models: &Models, asked: &str, ours: impl IntoIterator<Item = String>) -> String {
    let others = elements(asked).filter(|element| !is_ours(models, element)).map(str::to_owned);
    others.chain(ours).collect::<Vec<_>>().join(",")
}

/// Whether a list of TRES, as in `--tres-per-task`, asks for a licence that slurm-vipu gives to jobs.
pub(crate) fn asks_for_ours(models: &Models, tres: &str) -> bool {
    let licenses =
        elements(tres).filter_map(|element| element.strip_prefix("license")?.strip_prefix(['/', ':']));
    licenses.into_iter().any(|element| is_ours(models, element))
}

/// Notes the reservations of each model's licence, for models whose jobs ask for one.
pub(crate) fn look(frontend: &Frontend, slurm: &mut impl Slurm) {
    let models = frontend.models();
    let is_used = models.0.keys().any(|it| models.accounting(it).counts_license());
    let all = if is_used { reservations(&models, &slurm.licenses()) } else { BTreeMap::new() };
    frontend.set_license_reservations(all);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vipu_conf::Settings;
    use vipu_types::{IpuCount, Shape};

    use ledger::Seconds;

    use super::*;
    use crate::models::Model;
    use crate::slurm::ReservedLicenses;

    const OF_SITE: &str = "matlab:10,vipu_pod16:16,vipu:64";

    fn models(lines: [(&str, &str); 2]) -> Models {
        let model = |(name, line)| {
            let file = format!("ApiHost=x IpuofDir=/x {line}");
            let settings = Some(Settings::parse(&file, Path::new("vipu.conf")).unwrap());
            (ModelName::new(name).unwrap(), Model { largest: 64, sizes: None, settings, cabling: None })
        };
        Models(lines.map(model).into())
    }

    fn both() -> Models {
        models([("pod16", "Accounting=license"), ("pod64", "Accounting=Both")])
    }

    fn license(models: &Models, model: &str, of_site: &str) -> Option<License> {
        let (model, size) = (ModelName::new(model).unwrap(), IpuCount::new(16).unwrap());
        License::of(models, &Resolved { model, size, shape: Shape::default() }, of_site)
    }

    #[test]
    fn acct_the_licence_is_that_of_the_model_or_that_of_all() {
        let name = |models: &Models, model, of_site| license(models, model, of_site).map(|it| it.to_string());
        assert_eq!(name(&both(), "pod16", OF_SITE).as_deref(), Some("vipu_pod16:16"));
        assert_eq!(name(&both(), "pod64", OF_SITE).as_deref(), Some("vipu:16"));
        assert_eq!(name(&both(), "pod64", "vipu_pod16:16;vipus"), None);
        let without = models([("pod16", "Accounting=off"), ("pod64", "")]);
        assert_eq!((name(&without, "pod16", OF_SITE), name(&without, "pod64", OF_SITE)), (None, None));
    }

    #[test]
    fn acct_the_licence_stands_behind_those_of_the_user() {
        let models = both();
        let own = license(&models, "pod64", OF_SITE);
        let new = |asked| of_new(&models, asked, own.as_ref()).unwrap();
        assert_eq!(new("").as_deref(), Some("vipu:16"));
        assert_eq!(new("matlab:2;x").as_deref(), Some("matlab:2,x,vipu:16"));
        assert_eq!(new("matlab:2,vipu:16"), None);
        for asked in ["vipu", "vipu:8", "vipu_pod16:16", "matlab|vipu:8", "a, vipu=2"] {
            let why = of_new(&models, asked, own.as_ref()).unwrap_err();
            assert!(why.contains("counts IPUs: ask for IPUs"), "{asked}: {why}");
        }
        let why = of_new(&models, "a:1|b:2", own.as_ref()).unwrap_err();
        assert!(
            why.contains("vipu:16, which Slurm cannot combine with the alternatives in a:1|b:2"),
            "{why}"
        );
    }

    #[test]
    fn acct_reservations_are_those_of_a_model_s_own_licence() {
        let reserved = |licenses: &str| ReservedLicenses {
            licenses: licenses.into(),
            from: Seconds(10),
            until: Seconds(20),
        };
        let all = ["matlab:2", "a,vipu_pod16:4,vipu_pod16:4", "vipu:32", "vipu:0"].map(reserved).to_vec();
        let of = |models: &Models, of_site: &str| {
            let site = SiteLicenses { all: of_site.into(), reservations: all.clone() };
            let numbers =
                |it: LicenseReservations| (it.total, it.reserved.iter().map(|it| it.ipus).collect());
            let all = reservations(models, &site).into_iter();
            all.map(|(model, it)| (model.to_string(), numbers(it))).collect::<Vec<(_, (_, Vec<_>))>>()
        };
        assert_eq!(of(&both(), OF_SITE), [("pod16".into(), (16, vec![8])), ("pod64".into(), (64, vec![32]))]);
        assert_eq!(of(&both(), "vipu:80"), []);
        assert_eq!(of(&models([("pod16", ""), ("pod64", "Accounting=off")]), OF_SITE), []);
    }

    #[test]
    fn acct_jobs_without_ipus_keep_their_licences_and_get_none() {
        let of_job = |models: &Models, asked| of_new(models, asked, None);
        assert_eq!(of_job(&both(), "matlab:2|x"), Ok(None));
        assert!(of_job(&both(), "vipu:4").is_err());
        // The licence vipu of such a site is its own.
        assert_eq!(of_job(&models([("pod16", ""), ("pod64", "Accounting=off")]), "vipu:4"), Ok(None));
    }

    #[test]
    fn acct_a_running_job_keeps_its_licence() {
        let models = both();
        let kept = |asked| of_running(&models, asked, "matlab,vipu:16");
        assert_eq!(kept("").as_deref(), Some("vipu:16"));
        assert_eq!(kept("vipu:32,matlab").as_deref(), Some("matlab,vipu:16"));
        assert_eq!(kept("matlab,vipu:16"), None);
        assert_eq!(of_running(&models, "a;b", "c"), None);
    }

    #[test]
    fn acct_the_licence_is_found_in_a_list_of_tres() {
        let models = both();
        assert!(asks_for_ours(&models, "gres:gpu:1,license/vipu:4"));
        assert!(asks_for_ours(&models, "license:vipu_pod16"));
        assert!(!asks_for_ours(&models, "license/matlab:1,gres/vipu:4"));
    }

    #[test]
    fn acct_a_change_replaces_the_licence() {
        let models = both();
        let own = license(&models, "pod64", OF_SITE);
        let changed = |asked, own: Option<&License>| of_changed(&models, asked, own).unwrap();
        assert_eq!(changed("vipu:4,matlab", own.as_ref()).as_deref(), Some("matlab,vipu:16"));
        assert_eq!(changed("matlab,vipu:16", own.as_ref()), None);
        assert_eq!(changed("vipu_pod16:4", None).as_deref(), Some(""));
        for others in ["a|b", "a;b", "a, b"] {
            assert_eq!(changed(others, None), None);
        }
    }
}
