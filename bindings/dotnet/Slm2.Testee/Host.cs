using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

namespace Slm2.Testee
{
    /// <summary>What calls share, and the methods.</summary>
    internal sealed class Host : IDisposable
    {
        private readonly byte[] artifact;
        private readonly Dictionary<string, Contract> opened = new Dictionary<string, Contract>();
        private readonly Dictionary<string, Func<Params, Json.Members>> methods = new Dictionary<string, Func<Params, Json.Members>>();

        internal Host(byte[] artifact)
        {
            this.artifact = artifact;
            methods.Add("hello", Hello);
            Texts.Add(this);
            Chats.Add(this);
            Draws.Add(this);
            Sweeps.Add(this);
            Contract(Profile.Contract, null);
        }

        public void Dispose()
        {
            foreach (Contract contract in opened.Values)
            {
                contract.Dispose();
            }
        }

        internal void Add(string name, Func<Params, Json.Members> method)
        {
            methods.Add(name, method);
        }

        internal Json.Members Call(string name, Params call)
        {
            Func<Params, Json.Members> method;
            if (!methods.TryGetValue(name, out method))
            {
                throw new ArgumentException("there is no method " + name);
            }
            return method(call);
        }

        /// <summary>The contract of the profile and the limit that a call names.</summary>
        internal Contract Contract(Params call)
        {
            return Contract(call.Has("profile") ? call.Profile : Profile.Contract, call.MaxPretoken);
        }

        private Contract Contract(Profile profile, ulong? maxPretoken)
        {
            string key = profile + " " + maxPretoken;
            Contract contract;
            if (!opened.TryGetValue(key, out contract))
            {
                contract = Slm2.Contract.Open(artifact, profile, maxPretoken);
                opened.Add(key, contract);
            }
            return contract;
        }

        /// <summary>Code and fields of a refusal.</summary>
        internal static Json.Members Refusal(Slm2Exception refusal)
        {
            Json.Members fields = new Json.Members();
            foreach (KeyValuePair<string, object> field in refusal.Fields)
            {
                List<Finding> findings = field.Value as List<Finding>;
                fields.Add(field.Key, findings == null ? field.Value : findings.ConvertAll<object>(Found));
            }
            return new Json.Members { { "code", refusal.Code }, { "fields", fields } };
        }

        internal static object Found(Finding finding)
        {
            Json.Members members = new Json.Members();
            if (finding.Source != null)
            {
                members.Add("source", finding.Source);
            }
            members.Add("offset", finding.Offset);
            members.Add("id", finding.Id);
            members.Add("text", finding.Text);
            return members;
        }

        /// <summary>The outcome of one call of several: a result, or its refusal.</summary>
        internal static Json.Members Outcome(Func<Json.Members> call)
        {
            try
            {
                return call();
            }
            catch (Slm2Exception refusal)
            {
                return new Json.Members { { "error", Refusal(refusal) } };
            }
        }

        internal static string Hex(byte[] bytes)
        {
            return BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant();
        }

        internal static string Sha256(Contract contract, byte[] bytes)
        {
            return Hex(contract.Conformance().Sha256(bytes));
        }

        /// <summary>Bytes of a result: text where they are well-formed UTF-8, else base64.</summary>
        internal static Json.Members Shown(byte[] bytes)
        {
            try
            {
                return new Json.Members { { "text", new UTF8Encoding(false, true).GetString(bytes) } };
            }
            catch (ArgumentException)
            {
                return new Json.Members { { "base64", Convert.ToBase64String(bytes) } };
            }
        }

        private Json.Members Hello(Params call)
        {
            Contract contract = Contract(Profile.Contract, null);
            Json.Members host = new Json.Members
            {
                { "name", "Slm2" },
                { "version", "0.1.0" },
                { "language", "C#" },
                { "runtime", RuntimeInformation.FrameworkDescription },
                { "platform", RuntimeInformation.OSDescription + " " + RuntimeInformation.ProcessArchitecture },
            };
            return new Json.Members
            {
                { "protocol", 1L },
                { "contract_version", contract.ContractVersion },
                { "semantic_digest", contract.SemanticDigest },
                { "file_digest", contract.FileDigest },
                { "host", host },
                { "methods", methods.Keys.OrderBy(name => name, StringComparer.Ordinal) },
            };
        }
    }
}
