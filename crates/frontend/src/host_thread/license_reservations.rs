//! Looks at the reservations of licences.

use crate::frontend::Frontend;
use crate::licenses;
use crate::slurm::Slurm;

pub(super) fn look(frontend: &Frontend, slurm: &mut impl Slurm) {
    let models = frontend.models();
    let is_used = models.0.keys().any(|it| models.accounting(it).counts_license());
    let all = match is_used {
        true => {
            let site = slurm.licenses();
            licenses::reservations(&frontend.models(), &site)
        }
        false => Default::default(),
    };
    frontend.set_license_reservations(all);
}
