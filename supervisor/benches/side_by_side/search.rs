//! How long a search takes, with an index that was used before.

use std::sync::Arc;
use std::time::Instant;

use codemode::catalog::{Catalog, FileCatalog, SearchQuery};

use crate::catalogs::Catalogs;
use crate::figures::Figures;
use crate::table::{Row, Target, Unit};

/// Queries in each catalog and round.
const QUERIES: usize = 5;

/// The two catalogs under search.
#[derive(Debug)]
pub struct Searches {
    catalogs: [(Arc<FileCatalog>, f64, Figures); 2],
    queries: Vec<String>,
}

impl Searches {
    /// With nothing searched yet.
    pub fn new(catalogs: &Catalogs) -> Searches {
        let of = |catalog: &Arc<FileCatalog>, target| (Arc::clone(catalog), target, Figures::default());
        Searches { catalogs: [of(&catalogs.large, 0.3), of(&catalogs.many, 2.0)], queries: catalogs.queries.clone() }
    }

    /// Searches a few times in each.
    pub async fn once(&mut self, round: usize) {
        for at in 0..QUERIES {
            let text = &self.queries[(round * QUERIES + at) % self.queries.len()];
            let query = SearchQuery { query: text.clone(), limit: None };
            for (catalog, _, figures) in &mut self.catalogs {
                let began = Instant::now();
                let rows = catalog.search(&query).await.expect("a search answers");
                figures.add(began.elapsed().as_secs_f64() * 1e3);
                assert!(!rows.is_empty(), "nothing for {text:?}");
            }
        }
    }

    /// What came of it.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(catalog, target, figures): &(Arc<FileCatalog>, f64, Figures)| {
            let work = format!("search in {} tools", catalog.summary().catalog_size);
            Row::of(work, Unit::Milliseconds, figures, Target::AtMost(*target))
        };
        self.catalogs.iter().map(row).collect()
    }
}
