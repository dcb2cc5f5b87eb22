//! Sampling from outside: published words of the generators, their jumps and states, and what is refused.

use slm2_core::sampling::{Generator, MEANINGLESS_FROM, Recipe, Sampler, SamplingConfig, Seed, WIDTH};
use slm2_core::{ErrorCode, Profile};

fn config(seed: Seed) -> SamplingConfig {
    let profile = if matches!(seed, Seed::Mt19937Torch { .. }) { Profile::Publisher } else { Profile::Contract };
    SamplingConfig {
        profile,
        temperature: 0.6,
        top_k: 20,
        top_p: 0.95,
        min_p: 0.0,
        repetition_penalty: 1.0,
        seed,
        logit_bias: Vec::new(),
        banned_ids: Vec::new(),
        presence_penalty: 0.0,
        frequency_penalty: 0.0,
    }
}

type Change = fn(&mut SamplingConfig);

const SEEDS: [Seed; 3] = [
    Seed::Pcg32 { seed: 42, stream: 54 },
    Seed::ChaCha8 { key: [0; 32], stream: 0 },
    Seed::Mt19937Torch { seed: 5489 },
];

fn words(generator: &mut Generator, count: usize) -> Vec<u32> {
    (0..count).map(|_| generator.word()).collect()
}

/// pcg-c-basic's demo; draft-strombergson-chacha-test-vectors TC1; the C++ standard, [rand.predef].
#[test]
fn words_are_the_published_ones() {
    let [mut pcg, mut chacha, mut twister] = SEEDS.map(|seed| Generator::new(&seed));
    assert_eq!(words(&mut pcg, 6), [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e]);
    let hex = words(&mut chacha, 16).iter().fold(String::new(), |hex, word| format!("{hex}{:08x}", word.swap_bytes()));
    let published = "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e\
                     984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42";
    assert_eq!(hex, published);
    let drawn = words(&mut twister, 10_000);
    assert_eq!((drawn[0], drawn[9_999]), (3_499_211_612, 4_123_659_995));
}

#[test]
fn a_jump_is_as_many_steps_and_a_state_goes_on() {
    for seed in SEEDS {
        for count in [0, 1, 2, 15, 16, 17, 623, 624, 625, 1_247, 5_000] {
            let mut walked = Generator::new(&seed);
            words(&mut walked, count + 7);
            let mut jumped = Generator::new(&seed);
            words(&mut jumped, 7);
            jumped.advance(count as u64).unwrap();
            assert_eq!(jumped.position(), walked.position());
            let mut restored = Generator::new(&seed);
            restored.restore(&jumped.state()).expect("a state of the same kind");
            assert_eq!(restored.state(), jumped.state());
            let wanted = words(&mut walked, 700);
            assert_eq!(words(&mut jumped, 700), wanted, "{} by {count}", seed.name());
            assert_eq!(words(&mut restored, 700), wanted, "{} from its state", seed.name());
        }
    }
}

#[test]
fn long_jumps_add_up() {
    for seed in &SEEDS[..2] {
        let mut once = Generator::new(seed);
        once.advance(u64::MAX).unwrap();
        once.advance(12_345_678_901_234_567_890).unwrap();
        let mut twice = Generator::new(seed);
        twice.advance(12_345_678_901_234_567_890).unwrap();
        twice.advance(u64::MAX).unwrap();
        assert_eq!(words(&mut once, 40), words(&mut twice, 40));
        let mut back = Generator::new(seed);
        back.advance(1 << 63).unwrap();
        back.advance(1 << 63).unwrap();
        // 2^64 words are a whole period of PCG, and a sixteenth of one of ChaCha.
        assert_eq!(words(&mut back, 3) == words(&mut Generator::new(seed), 3), seed.name() == "pcg32");
    }
}

#[test]
fn states_that_are_none_change_nothing() {
    for seed in SEEDS {
        let mut generator = Generator::new(&seed);
        let before = generator.state();
        let mut other_kind = before.clone();
        other_kind[0] ^= 7;
        let mut far = before.clone();
        far[16] = 0xff;
        for state in [&[][..], &before[..before.len() - 1], &other_kind, &far] {
            let error = generator.restore(state).expect_err("no state");
            assert_eq!(error.code, ErrorCode::GeneratorState);
            assert_eq!(generator.state(), before);
        }
    }
}

#[test]
fn values_that_are_none_are_refused_by_name() {
    let refusals: [(&str, Change); 14] = [
        ("temperature", |config| config.temperature = -1.0),
        ("temperature", |config| config.temperature = f64::NAN),
        ("temperature", |config| config.temperature = 1e-60),
        ("temperature", |config| config.temperature = 1e60),
        ("repetition_penalty", |config| config.repetition_penalty = 0.0),
        ("repetition_penalty", |config| config.repetition_penalty = f64::INFINITY),
        ("top_p", |config| config.top_p = 1.5),
        ("top_p", |config| config.top_p = f64::NAN),
        ("min_p", |config| config.min_p = -0.1),
        ("presence_penalty", |config| config.presence_penalty = f64::NAN),
        ("frequency_penalty", |config| config.frequency_penalty = 1e300),
        ("logit_bias", |config| config.logit_bias = vec![(1, f64::INFINITY)]),
        ("logit_bias", |config| config.logit_bias = vec![(151_936, 0.0)]),
        ("banned_ids", |config| config.banned_ids = vec![151_936]),
    ];
    for (field, change) in refusals {
        let mut config = config(SEEDS[0]);
        change(&mut config);
        let error = Sampler::new(config, &[], 1).err().expect("refused");
        assert_eq!(error.code, ErrorCode::InvalidValue);
        assert_eq!(error.fields[0], ("field", field.to_string().into()));
    }
    let mut crossed = config(SEEDS[0]);
    crossed.profile = Profile::Publisher;
    assert_eq!(Sampler::new(crossed, &[], 1).err().expect("refused").code, ErrorCode::SamplingPairing);
    let error = Sampler::new(config(SEEDS[0]), &[5, 151_936], 1).err().expect("refused");
    assert_eq!(error.code, ErrorCode::TokenIdOutOfRange);
}

#[test]
fn rows_that_are_none_change_nothing() {
    let good: Vec<f32> = row(1);
    let with = |id: usize, value: f32| {
        let mut logits = good.clone();
        logits[id] = value;
        logits
    };
    for seed in SEEDS {
        let mut sampler = Sampler::new(config(seed), &[1, 2], 10).expect("good");
        let before = sampler.generator().state();
        let huge = sampler_of(&seed, 1e-3).sample(&with(7, 1e37), None, 0).expect_err("too large").code;
        assert_eq!(huge, ErrorCode::LogitsOverflow);
        for (logits, code) in [
            (with(0, f32::NAN), ErrorCode::LogitsInvalid),
            (with(WIDTH - 1, f32::INFINITY), ErrorCode::LogitsInvalid),
            (vec![f32::NEG_INFINITY; WIDTH], ErrorCode::LogitsExcluded),
            (good[1..].to_vec(), ErrorCode::LogitsLength),
            (Vec::new(), ErrorCode::LogitsLength),
        ] {
            assert_eq!(sampler.sample(&logits, None, 0).expect_err("refused").code, code);
            assert_eq!(sampler.generator().state(), before);
        }
        let none = vec![0_u8; WIDTH / 8];
        assert_eq!(sampler.sample(&good, Some(&none), 0).expect_err("refused").code, ErrorCode::LogitsExcluded);
        assert_eq!(sampler.sample(&good, Some(&none[1..]), 0).expect_err("refused").code, ErrorCode::AllowedLength);
        // After all these refusals the sampler draws what a fresh one draws.
        let fresh = Sampler::new(config(seed), &[1, 2], 10).expect("good").sample(&good, None, 3);
        assert_eq!(sampler.sample(&good, None, 3), fresh);
    }
}

#[test]
fn ids_without_meaning_are_out_in_profile_contract_alone() {
    let mut logits = row(2);
    logits[MEANINGLESS_FROM] = 100.0;
    let ids: Vec<u32> = SEEDS.map(|seed| sampler_of(&seed, 0.0).sample(&logits, None, 0).expect("drawn").id).into();
    assert_eq!(ids[2] as usize, MEANINGLESS_FROM);
    assert!(ids[..2].iter().all(|&id| (id as usize) < MEANINGLESS_FROM));
}

fn row(step: u64) -> Vec<f32> {
    let mut logits = vec![0.0; WIDTH];
    Recipe { seed: 11, step, scale: 1.0, head: 9.0, bfloat16: false }.write(&mut logits);
    logits
}

fn sampler_of(seed: &Seed, temperature: f64) -> Sampler {
    let config = SamplingConfig { temperature, ..config(*seed) };
    Sampler::new(config, &[], 10).expect("good")
}
