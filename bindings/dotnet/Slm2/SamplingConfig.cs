using System;
using System.Collections.Generic;
using System.Globalization;

namespace Slm2
{
    /// <summary>All that a generation is told (contract/sampling.md, S-1 to S-5): nothing has a default of its surroundings.</summary>
    public sealed class SamplingConfig
    {
        /// <summary>Logits of a row of Qwen3-0.6B.</summary>
        public const int Width = 151936;

        private readonly string json;

        private SamplingConfig(string json)
        {
            this.json = json;
        }

        /// <summary>A configuration in JSON, an object of the fields by name. It is checked where it is used.</summary>
        public static SamplingConfig FromJson(string json)
        {
            if (json == null)
            {
                throw new ArgumentNullException(nameof(json));
            }
            return new SamplingConfig(json);
        }

        /// <summary>Every field that must be given; those after them are off where they are null.</summary>
        /// <param name="profile">Under which profile.</param>
        /// <param name="temperature">0 for the greatest logit, else above 0.</param>
        /// <param name="topK">How many of the greatest logits stay; 0 is off.</param>
        /// <param name="topP">Share of the mass that stays; 1 is off.</param>
        /// <param name="minP">Share of the greatest probability that a token must have; 0 is off.</param>
        /// <param name="repetitionPenalty">Above 0; 1 is off.</param>
        /// <param name="rng">pcg32 or chacha8 in profile contract, mt19937-torch in profile publisher.</param>
        /// <param name="seed">The seed.</param>
        /// <param name="maxTokens">After how many ids a generation ends.</param>
        /// <param name="stopIds">Ids that end a generation.</param>
        /// <param name="stream">The number of the stream; null for 0.</param>
        /// <param name="streamName">Its name, in place of the number.</param>
        /// <param name="logitBias">What is added to the logits of ids.</param>
        /// <param name="bannedIds">Ids that cannot be drawn.</param>
        /// <param name="presencePenalty">Taken once from the logit of each id of the output.</param>
        /// <param name="frequencyPenalty">Taken from the logit of each id of the output as often as it is there.</param>
        /// <param name="stopStrings">Texts that end a generation and are not part of its text.</param>
        public static SamplingConfig Of(
            Profile profile,
            double temperature,
            uint topK,
            double topP,
            double minP,
            double repetitionPenalty,
            string rng,
            ulong seed,
            uint maxTokens,
            IEnumerable<uint> stopIds,
            ulong? stream = null,
            string streamName = null,
            IReadOnlyDictionary<uint, double> logitBias = null,
            IEnumerable<uint> bannedIds = null,
            double? presencePenalty = null,
            double? frequencyPenalty = null,
            IEnumerable<string> stopStrings = null)
        {
            Json.Members members = new Json.Members
            {
                { "profile", profile == Profile.Contract ? "contract" : "publisher" },
                { "temperature", temperature },
                { "top_k", topK },
                { "top_p", topP },
                { "min_p", minP },
                { "repetition_penalty", repetitionPenalty },
                { "rng", rng },
                { "seed", seed },
                { "max_tokens", maxTokens },
                { "stop_ids", stopIds },
            };
            Json.Members bias = new Json.Members();
            foreach (KeyValuePair<uint, double> pair in logitBias ?? new Dictionary<uint, double>())
            {
                bias.Add(pair.Key.ToString(CultureInfo.InvariantCulture), pair.Value);
            }
            members.Add("logit_bias", bias);
            Add(members, "stream", streamName ?? (object)stream);
            Add(members, "banned_ids", bannedIds);
            Add(members, "presence_penalty", presencePenalty);
            Add(members, "frequency_penalty", frequencyPenalty);
            Add(members, "stop_strings", stopStrings);
            return new SamplingConfig(Json.Write(members));
        }

        /// <summary>The configuration in JSON.</summary>
        public string ToJson()
        {
            return json;
        }

        private static void Add(Json.Members members, string name, object value)
        {
            if (value != null)
            {
                members.Add(name, value);
            }
        }
    }
}
