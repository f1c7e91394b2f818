//! Which stock selector to use.

use slurm_host::inner;
use vipu_conf::Layer;

/// What slurm.conf and vipu.conf say.
pub(crate) fn choose() -> Layer {
    inner::layer(Layer::ConsTres, vipu_conf::layer_of)
}
