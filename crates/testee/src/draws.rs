//! Sampling2: draws, generators, the portable functions, rows that any host can rebuild.

use sha2::{Digest, Sha256};
use slm2_core::sampling::{
    GenerationConfig, Generator, MEANINGLESS_FROM, Numbers, Outcome, Recipe, Sampler, Seed, WIDTH, math,
};
use slm2_core::{Generation, JsonValue, Tokenizer};

use crate::params::{Fault, Params, hex, member};
use crate::text::special;
use crate::write::{self, bits, list, made, object};
use crate::{Answer, Host, Method, refusal};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("sample", sample),
    ("sample_kept", sample_kept),
    ("draw", draw),
    ("random_words", random_words),
    ("restore", restore),
    ("portable", portable),
    ("recipe", recipe),
    ("generate", generate),
];

/// Steps whose digest is one.
const EVERY: u64 = 100;

fn unreadable(name: &str) -> Fault {
    Fault::Failure(format!("`{name}` cannot be read"))
}

fn number(value: &JsonValue, name: &str) -> Result<f64, Fault> {
    match member(value, name) {
        Some(JsonValue::Float(number)) => Ok(*number),
        Some(JsonValue::Int(digits)) => digits.parse().map_err(|_| unreadable(name)),
        _ => Err(unreadable(name)),
    }
}

fn recipe_of(value: &JsonValue) -> Result<Recipe, Fault> {
    let params = Params(value);
    Ok(Recipe {
        seed: params.integer("seed")?,
        step: params.integer("step")?,
        scale: number(value, "scale")?,
        head: number(value, "head")?,
        bfloat16: member(value, "bfloat16") == Some(&JsonValue::Bool(true)),
    })
}

/// A row: of a recipe, or one value with exceptions.
pub(crate) fn row(spec: &JsonValue, width: usize) -> Result<Vec<f32>, Fault> {
    let float = |digits: &str| u32::from_str_radix(digits, 16).map(f32::from_bits).map_err(|_| unreadable("rows"));
    if let Some(recipe) = member(spec, "recipe") {
        let mut row = vec![0.0; width];
        recipe_of(recipe)?.write(&mut row);
        return Ok(row);
    }
    let mut row = vec![float(Params(spec).text("fill")?)?; width];
    if let Some(JsonValue::Object(members)) = member(spec, "set") {
        for (key, pattern) in members {
            let (Ok(id), JsonValue::Text(digits)) = (key.text.parse::<usize>(), pattern) else {
                return Err(unreadable("set"));
            };
            *row.get_mut(id).ok_or_else(|| unreadable("set"))? = float(digits)?;
        }
    }
    Ok(row)
}

fn sampler(params: &Params<'_>) -> Result<Sampler, Fault> {
    let config = GenerationConfig::from_json(&params.json("config")?)?;
    let expected = usize::try_from(config.max_tokens).unwrap_or(usize::MAX);
    let width = params.size("width")?;
    Ok(Sampler::with_width(config.sampling, &params.ids("history")?, expected, width, MEANINGLESS_FROM)?)
}

/// The first 16 hex digits of the SHA-256 over the kept ids, rising.
fn kept_digest(sampler: &Sampler) -> JsonValue {
    let mut ids = sampler.kept().to_vec();
    ids.sort_unstable();
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    write::hex(Sha256::digest(bytes).get(..8).unwrap_or_default()).into()
}

fn sample(_: &mut Host, params: &Params<'_>) -> Answer {
    let (mut sampler, width) = (sampler(params)?, params.size("width")?);
    let allowed = params.optional_text("allowed")?.map(|digits| hex(digits).ok_or_else(|| unreadable("allowed")));
    let allowed = allowed.transpose()?;
    let top = usize::try_from(params.optional_integer("top")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut steps = Vec::new();
    for spec in params.list("rows")? {
        let drawn = sampler.sample(&row(spec, width)?, allowed.as_deref(), top)?;
        steps.push(step(&sampler, &drawn));
    }
    Ok(object([("steps", list(steps))]))
}

fn step(sampler: &Sampler, drawn: &Outcome) -> JsonValue {
    let numbers = match drawn.numbers {
        Numbers::Greatest => Vec::new(),
        Numbers::Contract { uniform, below, weight, mass } => vec![uniform, below, weight, mass],
        Numbers::Publisher { variate, ratio } => vec![variate.into(), ratio.into()],
    };
    let top = sampler.ranked().iter();
    let top = top.map(|token| list([token.id.into(), bits(token.probability), bits(token.log_probability)]));
    object([
        ("id", drawn.id.into()),
        ("probability", bits(drawn.probability)),
        ("log_probability", bits(drawn.log_probability)),
        ("sizes", JsonValue::array(drawn.sizes)),
        ("kept", kept_digest(sampler)),
        ("words", drawn.words.into()),
        ("numbers", list(numbers.into_iter().map(bits))),
        ("top", list(top)),
    ])
}

fn sample_kept(_: &mut Host, params: &Params<'_>) -> Answer {
    let (mut sampler, width) = (sampler(params)?, params.size("width")?);
    let mut steps = Vec::new();
    for spec in params.list("rows")? {
        let drawn = sampler.sample(&row(spec, width)?, None, 0)?;
        steps.push(list([drawn.id.into(), sampler.kept().len().into(), kept_digest(&sampler)]));
    }
    Ok(object([("steps", list(steps))]))
}

/// A long run over rows that are made once.
fn draw(_: &mut Host, params: &Params<'_>) -> Answer {
    let (mut sampler, width) = (sampler(params)?, params.size("width")?);
    let recipe = recipe_of(params.value("recipe")?)?;
    let mut rows = Vec::new();
    for number in 0..params.integer("cycle")? {
        let mut row = vec![0.0; width];
        Recipe { step: recipe.step + number, ..recipe }.write(&mut row);
        rows.push(row);
    }
    let (steps, every) = (params.integer("steps")?, params.optional_integer("every")?.unwrap_or(EVERY));
    let (mut ids, mut digests, mut stretch) = (Vec::new(), Vec::new(), Sha256::new());
    for (number, row) in (1..=steps).zip(rows.iter().cycle()) {
        let drawn = sampler.sample(row, None, 0)?;
        ids.push(drawn.id);
        stretch.update(drawn.id.to_le_bytes());
        stretch.update(u32::try_from(sampler.kept().len()).unwrap_or(u32::MAX).to_le_bytes());
        stretch.update(drawn.probability.to_le_bytes());
        stretch.update(drawn.log_probability.to_le_bytes());
        if number % every == 0 || number == steps {
            digests.push(write::hex(&stretch.finalize_reset()));
        }
    }
    Ok(object([
        ("ids", JsonValue::array(ids)),
        ("digests", JsonValue::array(digests)),
        ("position", sampler.generator().position().to_string().into()),
    ]))
}

/// Rows in which one id is greatest, one after the other.
fn generate(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let config = GenerationConfig::from_json(&params.json("config")?)?;
    let (tokenizer, mut generation) = (Tokenizer::new(artifact), Generation::new(config, &[], special(params)?)?);
    let (mut texts, mut refused, mut row) = (Vec::new(), JsonValue::Null, vec![0.0; WIDTH]);
    for id in params.ids("ids")? {
        row.fill(0.0);
        *row.get_mut(id as usize).ok_or_else(|| unreadable("ids"))? = 1.0;
        match generation.step(&tokenizer, &row, None, 0) {
            Ok(step) => texts.push(step.text),
            Err(error) => {
                refused = refusal(&error);
                break;
            }
        }
    }
    let result = made(&generation.result_to_json());
    let of_result = |name| member(&result, name).cloned().unwrap_or(JsonValue::Null);
    Ok(object([
        ("texts", JsonValue::array(texts)),
        ("drawn", of_result("ids")),
        ("reason", of_result("reason")),
        ("stopped_by", of_result("stopped_by")),
        ("stop_string", of_result("stop_string")),
        ("pending", of_result("pending")),
        ("refusal", refused),
    ]))
}

// ---- generators ----

fn seed(params: &Params<'_>) -> Result<Seed, Fault> {
    let mut members = vec![("rng", params.value("rng")?.clone())];
    let integer = |digits: u64| JsonValue::from(digits);
    let key = params.optional_text("key")?.map(JsonValue::from);
    members.extend(key.or(params.digits("seed")?.map(integer)).map(|seed| ("seed", seed)));
    let stream = params.optional_text("stream_name")?.map(JsonValue::from);
    members.extend(stream.or(params.digits("stream")?.map(integer)).map(|stream| ("stream", stream)));
    Ok(Seed::from_json(&JsonValue::object(members))?)
}

fn random_words(_: &mut Host, params: &Params<'_>) -> Answer {
    let mut generator = Generator::new(&seed(params)?);
    for jump in params.list("advance")? {
        let JsonValue::Text(digits) = jump else { return Err(unreadable("advance")) };
        generator.advance(digits.parse().map_err(|_| unreadable("advance"))?)?;
    }
    let state = generator.state();
    let uniform = generator.uniform();
    generator.restore(&state)?;
    Ok(object([
        ("state", write::hex(&Sha256::digest(&state)).into()),
        ("position", generator.position().to_string().into()),
        ("words", words(&mut generator, params)?),
        ("uniform", bits(uniform)),
    ]))
}

fn words(generator: &mut Generator, params: &Params<'_>) -> Answer {
    Ok(JsonValue::array((0..params.integer("count")?).map(|_| generator.word())))
}

fn restore(_: &mut Host, params: &Params<'_>) -> Answer {
    let mut generator = Generator::new(&seed(params)?);
    generator.restore(&hex(params.text("state")?).ok_or_else(|| unreadable("state"))?)?;
    let position = generator.position().to_string().into();
    Ok(object([("position", position), ("words", words(&mut generator, params)?)]))
}

// ---- arithmetic ----

fn portable(_: &mut Host, params: &Params<'_>) -> Answer {
    let function = match params.text("function")? {
        "exp" => math::exp,
        "log" => math::log,
        "log1p" => math::log1p,
        _ => return Err(unreadable("function")),
    };
    let mut values = Vec::new();
    for pattern in params.list("values")? {
        let JsonValue::Text(digits) = pattern else { return Err(unreadable("values")) };
        let value = u64::from_str_radix(digits, 16).map(f64::from_bits).map_err(|_| unreadable("values"))?;
        values.push(bits(function(value)));
    }
    Ok(object([("values", list(values))]))
}

fn recipe(_: &mut Host, params: &Params<'_>) -> Answer {
    let (recipe, width) = (recipe_of(params.value("recipe")?)?, params.size("width")?);
    let mut row = vec![0.0; width];
    recipe.write(&mut row);
    let bytes: Vec<u8> = row.iter().flat_map(|logit| logit.to_le_bytes()).collect();
    let first = row.iter().take(4).map(|logit| format!("{:08x}", logit.to_bits()));
    Ok(object([
        ("first", JsonValue::array(first)),
        ("sha256", write::hex(&Sha256::digest(&bytes)).into()),
        ("history", JsonValue::array(recipe.history(params.integer("count")?, params.integer("width")?))),
    ]))
}
