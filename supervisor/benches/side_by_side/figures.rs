//! Medians and tails.

/// Samples of one kind.
#[derive(Clone, Debug, Default)]
pub struct Figures(Vec<f64>);

impl Figures {
    /// One more.
    pub fn add(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Half of the samples are at most this.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The share `of` of the samples is at most this (nearest rank); not a number without samples.
    pub fn quantile(&self, of: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (of * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}
