//! Which stock selector to use.

use conf::Layer;
use slurm_host::{conf as slurm_conf, differences::other_cons_tres};

/// What `SelectTypeParameters=other_cons_tres` says, else `Layer=` of vipu.conf, else cons_tres.
///
/// Every process that unpacks node records must choose the same, so a site that wants another layer than
/// the default keeps vipu.conf beside slurm.conf on every host.
pub(crate) fn choose() -> Layer {
    if other_cons_tres::is_set() {
        return Layer::ConsTres;
    }
    slurm_conf::folder().and_then(|folder| conf::layer_of(&folder)).unwrap_or(Layer::ConsTres)
}
