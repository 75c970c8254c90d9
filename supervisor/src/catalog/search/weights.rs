//! What counts how much in a search: data with a reason for each number.

use std::sync::LazyLock;

use serde::Deserialize;

/// The numbers, read once. The file is part of the program and the tests read it, so it cannot be wrong here.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("weights.json")).unwrap_or_else(|error| unreachable!("weights.json: {error}")));

/// What parts of a question count, beside the words themselves. The default is what the repository's own measurements led to (`docs/catalog.md`).
///
/// Why you would change it: to measure. The weights of the fields are not here: what was read of a tool is kept with the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchWeights {
    /// A synonym, against the word itself.
    pub synonym: f32,
    /// A synonym of a word that no tool has.
    pub synonym_of_unknown: f32,
    /// Two neighbouring words side by side.
    pub pair: f32,
    /// Each further mention of a word in the question.
    pub repeated: f32,
    /// Words that only speak of the asking.
    pub asking: f32,
}

impl Default for SearchWeights {
    fn default() -> SearchWeights {
        SearchWeights {
            synonym: TABLE.synonym.value,
            synonym_of_unknown: TABLE.synonym_of_unknown.value,
            pair: TABLE.pair.value,
            repeated: TABLE.repeated.value,
            asking: TABLE.asking.value,
        }
    }
}

/// One searchable part of a tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FieldWeight {
    /// What a match in it counts.
    pub(super) weight: f32,
    /// How much a longer text thins a match out (`b` of BM25; 0: not at all).
    pub(super) length_matters: f32,
    /// How many words it usually has. A fixed number, and not the mean of the catalog at hand: so what is read of a tool depends on the tool alone,
    /// and stays when others come and go.
    pub(super) usual_words: f32,
    #[cfg_attr(not(test), expect(dead_code, reason = "read by people, and by the test that there is one"))]
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Fields {
    pub(super) name: FieldWeight,
    pub(super) source_name: FieldWeight,
    pub(super) description: FieldWeight,
    pub(super) parameters: FieldWeight,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Weight {
    value: f32,
    #[cfg_attr(not(test), expect(dead_code, reason = "read by people, and by the test that there is one"))]
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Table {
    fields: Fields,
    saturation: Weight,
    synonym: Weight,
    synonym_of_unknown: Weight,
    pair: Weight,
    repeated: Weight,
    asking: Weight,
}

/// The fields of a tool.
pub(super) fn fields() -> &'static Fields {
    &TABLE.fields
}

/// How soon repeating a word stops counting (`k1` of BM25).
pub(super) fn saturation() -> f32 {
    TABLE.saturation.value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_has_a_reason_and_takes_part() {
        let fields = &TABLE.fields;
        for field in [&fields.name, &fields.source_name, &fields.description, &fields.parameters] {
            assert!(field.reason.len() > 40 && field.weight > 0.0 && field.usual_words >= 1.0, "{field:?}");
            assert!((0.0..=1.0).contains(&field.length_matters), "{field:?}");
        }
        for weight in [&TABLE.saturation, &TABLE.synonym, &TABLE.synonym_of_unknown, &TABLE.pair, &TABLE.repeated, &TABLE.asking] {
            assert!(weight.reason.len() > 40 && weight.value > 0.0, "{weight:?}");
        }
    }

    #[test]
    fn a_synonym_never_counts_as_much_as_the_word() {
        let weights = SearchWeights::default();
        assert!(weights.synonym < weights.synonym_of_unknown && weights.synonym_of_unknown < 1.0);
    }
}
