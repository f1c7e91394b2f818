//! Which stock selector to use.

use conf::Layer;
use slurm_host::inner;

/// What slurm.conf and vipu.conf say.
pub(crate) fn choose() -> Layer {
    inner::layer(Layer::ConsTres, conf::layer_of)
}
