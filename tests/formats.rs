//! The two formats that users write: the published schemas take what the loader takes, and the loader takes any text.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jsonschema::Validator;
use mocktrial::scenario::{
    CONTRACT_FILE, Contract, Diagnostic, SCENARIO_SUFFIX, SchemaKind, Source, contract_from, load_contract,
    read_contract, read_scenario, schema,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator(kind: SchemaKind) -> Validator {
    jsonschema::validator_for(&schema(kind)).expect("a schema")
}

/// Every file below `folder` whose name ends so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read_yaml(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a text");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_contract_and_scenario_of_the_project_fits_its_schema() {
    for (kind, end, at_least) in
        [(SchemaKind::Contract, CONTRACT_FILE, 5), (SchemaKind::Scenario, SCENARIO_SUFFIX, 60)]
    {
        let validator = validator(kind);
        let mut seen = 0;
        for folder in ["scenarios", "tests/formats", "tests/verdicts"] {
            for path in files(&root().join(folder), end) {
                let faults: Vec<_> =
                    validator.iter_errors(&read_yaml(&path)).map(|error| error.to_string()).collect();
                assert!(faults.is_empty(), "{}: {faults:?}", path.display());
                seen += 1;
            }
        }
        assert!(seen >= at_least, "{seen} files end in {end}");
    }
}

#[test]
fn a_file_with_a_wrong_key_fits_no_schema() {
    let (contracts, scenarios) = (validator(SchemaKind::Contract), validator(SchemaKind::Scenario));
    let scripts = validator(SchemaKind::Model);
    let mut seen = 0;
    for expected in files(&root().join("tests/wrong"), "expected.txt") {
        let text = fs::read_to_string(&expected).expect("a text");
        let told = |code: &str| text.contains(&format!("error[{code}]"));
        if !told("key.unknown") && !told("key.missing") && !told("word.unknown") {
            continue;
        }
        let folder = expected.parent().expect("a folder");
        if let Some(script) = files(folder, "model.yaml").pop().filter(|_| text.contains("model.yaml:")) {
            assert!(!scripts.is_valid(&read_yaml(&script)), "{}", folder.display());
            seen += 1;
            continue;
        }
        let Some(scenario) = files(folder, SCENARIO_SUFFIX).pop() else {
            let fits = contracts.is_valid(&read_yaml(&folder.join(CONTRACT_FILE)));
            assert!(!fits, "{}", folder.display());
            seen += 1;
            continue;
        };
        assert!(!scenarios.is_valid(&read_yaml(&scenario)), "{}", folder.display());
        seen += 1;
    }
    assert!(seen >= 4, "{seen} files");
}

/// A good file of each kind with every key in it.
struct Good {
    contract: Contract,
    texts: [String; 2],
    trees: [Value; 2],
}

fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let paths =
            [CONTRACT_FILE, "everything.scenario.yaml"].map(|name| root().join("tests/formats").join(name));
        Good {
            contract: load_contract(&paths[0]).expect("a good contract"),
            texts: paths.clone().map(|path| fs::read_to_string(path).expect("a text")),
            trees: paths.map(|path| read_yaml(&path)),
        }
    })
}

/// Reads a text as the file of that kind: whether it is taken, and what is told.
fn read(kind: usize, text: &str) -> (bool, Vec<Diagnostic>) {
    let folder = root().join("tests/formats");
    let source = |name: &str| Source { path: folder.join(name), text: text.into() };
    match kind {
        0 => {
            let named = |path: &Path| fs::read_to_string(path);
            let taken = contract_from(source(CONTRACT_FILE), &named).is_ok();
            (taken, read_contract(source(CONTRACT_FILE), &named).diagnostics)
        }
        _ => {
            let reading = read_scenario(source("everything.scenario.yaml"), &good().contract);
            let told = reading.diagnostics.clone();
            (reading.into_result().is_ok(), told)
        }
    }
}

/// What is done to the text of a file.
#[derive(Clone, Debug)]
enum Edit {
    Drop(usize),
    Twice(usize),
    Swap(usize, usize),
    Indent(usize, usize),
    Insert(usize, String),
    Cut(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let odd = prop_oneof![
        Just(": ".to_owned()),
        Just("- ".to_owned()),
        Just("{ ".to_owned()),
        Just("]".to_owned()),
        Just("&a ".to_owned()),
        Just("*a".to_owned()),
        Just("!!binary ".to_owned()),
        Just("\t".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{feff}ü".to_owned()),
        Just("---\n".to_owned()),
        Just("99999999999999999999999".to_owned()),
        Just("${".to_owned()),
        Just("'".to_owned()),
        Just("\"".to_owned()),
        any::<String>(),
    ];
    let place = 0usize..8000;
    prop_oneof![
        place.clone().prop_map(Edit::Drop),
        place.clone().prop_map(Edit::Twice),
        (place.clone(), place.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        (place.clone(), 1usize..5).prop_map(|(at, by)| Edit::Indent(at, by)),
        (place.clone(), odd).prop_map(|(at, text)| Edit::Insert(at, text)),
        place.prop_map(Edit::Cut),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_owned();
    for edit in edits {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let count = lines.len().max(1);
        if lines.is_empty() {
            return text;
        }
        match edit {
            Edit::Drop(at) => drop(lines.remove(at % count)),
            Edit::Twice(at) => lines.insert(at % count, lines[at % count].clone()),
            Edit::Swap(a, b) => lines.swap(a % count, b % count),
            Edit::Indent(at, by) => lines[at % count].insert_str(0, &" ".repeat(*by)),
            Edit::Insert(at, odd) => {
                let line = &mut lines[at % count];
                let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
                line.insert_str(places[at / count % places.len()], odd);
            }
            Edit::Cut(at) => lines.truncate(at % count),
        }
        text = lines.join("\n") + "\n";
    }
    text
}

/// What is done to the tree of a file: at the place of this number, this.
#[derive(Clone, Debug)]
enum Graft {
    Remove,
    Rename,
    Replace(Value),
    Add,
}

fn graft() -> impl Strategy<Value = Graft> {
    let other = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..700).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,8}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["x"])),
        Just(json!({ "at_least": 1 })),
    ];
    prop_oneof![Just(Graft::Remove), Just(Graft::Rename), other.prop_map(Graft::Replace), Just(Graft::Add),]
}

/// Applies `graft` at the `at`-th value, counted from the top; what is left of the count comes back.
fn grafted(value: &mut Value, at: usize, graft: &Graft) -> Option<usize> {
    let mut left = at;
    match value {
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            for name in names {
                if left == 0 {
                    apply(fields, &name, graft);
                    return None;
                }
                left = grafted(fields.get_mut(&name)?, left - 1, graft)?;
            }
        }
        Value::Array(items) => {
            for at in 0..items.len() {
                if left == 0 {
                    match graft {
                        Graft::Replace(other) if unquoted(&items[at], other) => {}
                        Graft::Replace(other) => items[at] = other.clone(),
                        _ => drop(items.remove(at)),
                    }
                    return None;
                }
                left = grafted(&mut items[at], left - 1, graft)?;
            }
        }
        _ => {}
    }
    Some(left)
}

/// An unquoted scalar is text where text is wanted, as `PORT: 8080` is; the schema asks for quotes, on purpose.
fn unquoted(was: &Value, is: &Value) -> bool {
    was.is_string() && (is.is_boolean() || is.is_number())
}

fn apply(fields: &mut Map<String, Value>, name: &str, graft: &Graft) {
    match graft {
        Graft::Remove => drop(fields.remove(name)),
        Graft::Rename => {
            if let Some(value) = fields.remove(name) {
                fields.insert(format!("{name}x"), value);
            }
        }
        Graft::Replace(other) if unquoted(&fields[name], other) => {}
        Graft::Replace(other) => drop(fields.insert(name.to_owned(), other.clone())),
        Graft::Add => drop(fields.insert("added".to_owned(), json!("x"))),
    }
}

#[test]
fn the_good_files_are_good() {
    for kind in [0, 1] {
        assert_eq!(read(kind, &good().texts[kind]).1, [], "{kind}");
        assert!(
            read(kind, &good().trees[kind].to_string()).0,
            "{:?}",
            read(kind, &good().trees[kind].to_string()).1
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_every_fault_has_a_place_in_it(
        kind in 0usize..2,
        edits in proptest::collection::vec(edit(), 1..6),
    ) {
        let text = edited(&good().texts[kind], &edits);
        let (taken, told) = read(kind, &text);
        let lines = u32::try_from(text.split('\n').count()).expect("few lines");
        prop_assert!(taken || !told.is_empty(), "refused without a word:\n{}", text);
        for fault in told {
            prop_assert!(fault.pos.line >= 1 && fault.pos.column >= 1, "{:?}", fault);
            // A file that another names has lines of its own.
            prop_assert!(fault.pos.line <= lines || fault.text.as_ref() != text, "{:?} of {} lines", fault, lines);
            prop_assert!(!fault.what.is_empty() && !fault.code.is_empty(), "{:?}", fault);
            prop_assert!(!fault.render(false).is_empty());
        }
    }

    #[test]
    fn what_the_loader_takes_fits_the_schema(kind in 0usize..2, at in 0usize..600, graft in graft()) {
        static VALIDATORS: OnceLock<[Validator; 2]> = OnceLock::new();
        let validators = VALIDATORS.get_or_init(|| [SchemaKind::Contract, SchemaKind::Scenario].map(validator));
        let mut tree = good().trees[kind].clone();
        grafted(&mut tree, at, &graft);
        if read(kind, &tree.to_string()).0 {
            let faults: Vec<_> = validators[kind].iter_errors(&tree).map(|error| error.to_string()).collect();
            prop_assert!(faults.is_empty(), "{:?} at {}: {:?}", graft, at, faults);
        }
    }
}
