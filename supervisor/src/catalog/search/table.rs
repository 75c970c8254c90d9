//! Lists by key, in three flat arrays: made at once by sorting, and looked up without a pointer to follow.

/// What stands under each key. Keys that were given together are one list, in the order of their items.
#[derive(Debug)]
pub(super) struct Table<T> {
    keys: Vec<u64>,
    /// For each key where its items begin; one more at the end.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Table<T> {
    /// The table of these entries. `sorting` orders the items under a key.
    pub(super) fn new<K: Ord>(mut entries: Vec<(u64, T)>, sorting: impl Fn(&T) -> K) -> Table<T> {
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| sorting(&a.1).cmp(&sorting(&b.1))));
        let mut table = Table { keys: Vec::new(), starts: Vec::new(), items: Vec::with_capacity(entries.len()) };
        for (at, (key, item)) in (0u32..).zip(entries) {
            if table.keys.last() != Some(&key) {
                table.keys.push(key);
                table.starts.push(at);
            }
            table.items.push(item);
        }
        table.starts.push(u32::try_from(table.items.len()).unwrap_or(u32::MAX));
        table
    }

    /// The items under a key; none for an unknown one.
    pub(super) fn get(&self, key: u64) -> &[T] {
        match self.keys.binary_search(&key) {
            Ok(at) => &self.items[self.starts[at] as usize..self.starts[at + 1] as usize],
            Err(_) => &[],
        }
    }

    /// How many different keys.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_items_in_order() {
        let table = Table::new(vec![(7, 'b'), (1, 'z'), (7, 'a'), (u64::MAX, 'q')], |item| *item);
        assert_eq!((table.get(7), table.get(1), table.get(u64::MAX)), (&['a', 'b'][..], &['z'][..], &['q'][..]));
        assert_eq!((table.get(0), table.get(8)), (&[][..], &[][..]));
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn an_empty_table_has_nothing() {
        assert!(Table::<u32>::new(Vec::new(), |item| *item).get(0).is_empty());
    }
}
