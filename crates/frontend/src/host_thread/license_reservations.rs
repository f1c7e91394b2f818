//! Looks at the reservations of licences.

use crate::frontend::Frontend;
use crate::licenses;
use crate::slurm::Slurm;

pub(super) fn look(frontend: &Frontend, slurm: &mut impl Slurm) {
    let is_used = frontend.models(|models| models.0.keys().any(|it| models.accounting(it).counts_license()));
    let all = match is_used {
        true => {
            let site = slurm.licenses();
            frontend.models(|models| licenses::reservations(models, &site))
        }
        false => Default::default(),
    };
    frontend.set_license_reservations(all);
}
