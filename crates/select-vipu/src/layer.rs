//! The choice of the stock selector.

use slurm_host::stock_selector;
use vipu_conf::Layer;

/// The settings of slurm.conf and vipu.conf for this choice.
pub(crate) fn choose() -> Layer {
    stock_selector::layer(Layer::ConsTres, vipu_conf::layer_of)
}
