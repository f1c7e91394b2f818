//! The warnings of a site whose accounting leaves out IPUs.

use frontend::{Models, licenses};
use vipu_conf::Accounting;
use vipu_types::ModelName;

/// The warnings for these models. `tres` are the TRES of IPUs that Slurm counts, `None` if the site stores no
/// accounting. `of_site` is `Licenses` of slurm.conf.
pub(crate) fn warnings(
    models: &Models,
    names: &[&ModelName],
    tres: Option<&[String]>,
    of_site: &str,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let counts_gres = |name: &&&ModelName| models.accounting(name).counts_gres();
    let by_gres: Vec<_> = names.iter().copied().filter(|name| counts_gres(&name)).collect();
    if tres.is_some_and(<[_]>::is_empty) && !by_gres.is_empty() {
        warnings.push(without_tres(models, &by_gres));
    }
    let by_license = names.iter().filter(|name| models.accounting(name).counts_license());
    warnings.extend(by_license.filter_map(|model| match licenses::name_of(models, model, of_site) {
        None => Some(without_license(model, models.accounting(model))),
        Some(license) => too_few(models, model, &license, of_site),
    }));
    warnings
}

/// The warning if Slurm would refuse jobs that the model can have.
fn too_few(models: &Models, model: &ModelName, license: &str, of_site: &str) -> Option<String> {
    let (largest, count) = (models.0.get(model)?.largest, licenses::count_of(of_site, license)?);
    (count < largest.into()).then(|| {
        format!(
            "Licenses in slurm.conf has {count} of {license}, but a job on {model} may ask for {largest} IPUs: Slurm \
             refuses such a job; write the number of IPUs of the model there, and run scontrol reconfigure"
        )
    })
}

fn without_tres(models: &Models, names: &[&ModelName]) -> String {
    let types = names.iter().flat_map(|model| models.gres_types(model));
    let of_models: String = types.map(|of| format!(",gres/vipu:{of}")).collect();
    format!(
        "Slurm's accounting does not count IPUs: sacct, sreport, limits, billing and fair-share leave them out; \
         add gres/vipu{of_models} to AccountingStorageTRES in slurm.conf and restart slurmctld"
    )
}

fn without_license(model: &ModelName, accounting: Accounting) -> String {
    format!(
        "Accounting={} of {model}: jobs get no licence, because Licenses in slurm.conf has neither vipu_{model} nor \
         vipu; add vipu_{model}:N there, with the number of IPUs of the model for N, and run scontrol reconfigure",
        accounting.name()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use frontend::Model;
    use vipu_conf::Settings;

    use super::*;

    #[test]
    fn acct_a_site_that_counts_no_ipus_is_told_the_lines() {
        let known = [("pod16", "Accounting=both"), ("pod64", ""), ("pod8", "Accounting=off")];
        let model = |(name, line): &(&str, &str)| {
            let file = format!("ApiHost=x IpuofDir=/x {line}");
            let settings = Some(Settings::parse(&file, Path::new("vipu.conf")).unwrap());
            (ModelName::new(*name).unwrap(), Model { largest: 64, sizes: None, settings, cabling: None })
        };
        let models = Models(known.iter().map(model).collect());
        let names: Vec<_> = models.0.keys().collect();
        let told = |tres: Option<&[String]>, of_site| warnings(&models, &names, tres, of_site);
        let both = told(Some(&[]), "matlab:1");
        assert!(both[0].contains("add gres/vipu,gres/vipu:pod16,gres/vipu:pod64 to Acc"), "{both:?}");
        assert!(both[1].contains("Accounting=both of pod16: jobs get no licence"), "{both:?}");
        assert_eq!(both.len(), 2);
        assert_eq!(told(Some(&["gres/vipu".into()]), "vipu:64"), [""; 0]);
        assert_eq!(told(None, "vipu_pod16:64"), [""; 0]);
        let few = told(None, "vipu");
        assert!(few.len() == 1 && few[0].contains("1 of vipu, but a job on pod16 may ask for 64"), "{few:?}");
    }
}
