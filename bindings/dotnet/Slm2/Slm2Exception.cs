using System;
using System.Collections.Generic;

namespace Slm2
{
    /// <summary>A refusal: nothing was done, or what was done is said in the fields.</summary>
    public sealed class Slm2Exception : Exception
    {
        internal Slm2Exception(string code, string message, IReadOnlyDictionary<string, object> fields)
            : base(message)
        {
            Code = code;
            Fields = fields;
        }

        /// <summary>What went wrong, one of <see cref="ErrorCodes"/>; stable, made to be compared.</summary>
        public string Code { get; }

        /// <summary>What was expected, what came and where, under the names of contract/errors.toml: long, string, or a list of findings.</summary>
        public IReadOnlyDictionary<string, object> Fields { get; }

        internal static Slm2Exception Read(string json)
        {
            Json.Members error = (Json.Members)Json.Read(json);
            Dictionary<string, object> fields = new Dictionary<string, object>();
            foreach (KeyValuePair<string, object> field in (Json.Members)error["fields"])
            {
                List<object> findings = field.Value as List<object>;
                fields[field.Key] = findings == null ? field.Value : findings.ConvertAll(Finding.Of);
            }
            return new Slm2Exception((string)error["code"], (string)error["message"], fields);
        }
    }
}
