//! Catalog files as people write them.

use std::io::Write;

use codemode::catalog::{Catalog, CatalogFileProblem, FileCatalog, Place};
use serde_json::json;

fn open(bytes: &[u8]) -> Result<FileCatalog, codemode::catalog::CatalogFileError> {
    let mut file =
        tempfile::Builder::new().prefix("shop").suffix(".json").rand_bytes(0).tempfile_in(tempfile::tempdir().unwrap().keep()).unwrap();
    file.write_all(bytes).unwrap();
    FileCatalog::open(file.path())
}

#[test]
fn p55_comments_trailing_commas_single_quotes_and_bare_keys_are_read() {
    let text = "// tools\n[\n  { name: 'fetch', /* the address */ description: 'From https://example.com/a // b', parameters: {type: 'object',}, },\n]\n";
    let catalog = open(text.as_bytes()).unwrap();
    assert_eq!(catalog.tools().tools()[0].description, "From https://example.com/a // b");
}

#[test]
fn p56_a_byte_order_mark_and_crlf_are_fine_and_utf_16_is_named() {
    let text = "[\r\n{\"name\": \"x\", \"description\": \"\", \"parameters\": {}}\r\n]\r\n";
    for text in [format!("\u{feff}{text}"), format!("\u{feff}{}", text.replace("\"name\"", "name"))] {
        assert_eq!(open(text.as_bytes()).unwrap().tools().tools()[0].id, "client:shop:x");
    }
    for units in [
        text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ] {
        assert_eq!(open(&units).unwrap_err().problem, CatalogFileProblem::Utf16);
    }
}

#[test]
fn p56_lines_count_right_behind_a_mark_and_crlf() {
    let text = "\u{feff}[\r\n{\"name\": \"x\", \"description\": \"\", \"parameters\": {}},\r\n  {\"name\": \"x\", \"description\": \"\", \"parameters\": {}}\r\n]";
    let error = open(text.as_bytes()).unwrap_err();
    assert_eq!(error.place, Some(Place { line: 3, column: 3 }));
    assert!(error.to_string().contains("shop.json:3:3: tool \"x\": the id \"client:shop:x\" is taken by an earlier tool"), "{error}");
}

#[test]
fn defaults_are_client_the_files_stem_and_a_made_up_id() {
    let tool = |text: &str| open(text.as_bytes()).unwrap().tools().tools()[0].row();
    let row = tool(r#"[{"name": "buy", "description": "d", "parameters": {}}]"#);
    assert_eq!(
        row,
        json!({"id": "client:shop:buy", "source": "client", "sourceName": "shop", "name": "buy", "description": "d", "input": "unknown"})
    );
    let row = tool(
        r#"[{"id": "a:b", "source": "plugin", "sourceName": "p", "name": "buy", "description": "d", "parameters": {"type": "object"}}]"#,
    );
    assert_eq!((&row["id"], &row["source"], &row["sourceName"]), (&json!("a:b"), &json!("plugin"), &json!("p")));
}

#[test]
fn p30_a_schema_comes_back_as_it_was() {
    let schema = json!({
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false,
        "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"enum": ["x", null], "default": "x"}, "big": {"maximum": 12_345_678_901_234_567_890_u64}},
    });
    let json = json!([{"name": "t", "description": "", "parameters": schema, "outputSchema": schema}]).to_string();
    // The same text behind a comment takes the JSON5 way.
    for text in [json.clone(), format!("// tools\n{json}")] {
        let described = open(text.as_bytes()).unwrap().tools().tools()[0].description_value();
        assert_eq!((&described["parameters"], &described["outputSchema"]), (&schema, &schema));
    }
}

#[test]
fn a_missing_file_and_a_directory_are_named() {
    for (path, kind) in [("/no/such/tools.json", std::io::ErrorKind::NotFound), ("/", std::io::ErrorKind::IsADirectory)] {
        let error = FileCatalog::open(path).unwrap_err();
        assert_eq!((error.file.as_str(), &error.problem), (path, &CatalogFileProblem::Unreadable(kind)));
    }
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let error = open(&vec![b' '; (64 << 20) + 1]).unwrap_err();
    assert_eq!(error.problem, CatalogFileProblem::TooLarge { limit: 64 << 20 });
}

#[test]
fn an_empty_list_is_an_empty_catalog_and_an_empty_file_is_an_error() {
    assert_eq!(open(b"[]").unwrap().summary().catalog_size, 0);
    assert!(matches!(open(b"").unwrap_err().problem, CatalogFileProblem::Syntax { .. }));
}
