using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

namespace Slm2.Testee
{
    /// <summary>Parameters of a call.</summary>
    internal sealed class Params
    {
        private readonly Json.Members members;

        internal Params(Json.Members members)
        {
            this.members = members;
        }

        internal Profile Profile => Text("profile") == "contract" ? Profile.Contract : Known("profile", "publisher", Profile.Publisher);

        internal OnSpecial OnSpecial => Has("on_special") && Text("on_special") == "reject" ? OnSpecial.Reject : OnSpecial.Literal;

        internal SpecialPolicy Special => (SpecialPolicy)Enum.Parse(typeof(SpecialPolicy), Text("special"), true);

        internal ulong? MaxPretoken => Has("max_pretoken") ? (ulong?)Integer("max_pretoken") : null;

        /// <summary>A text as bytes, where it is bytes; else null.</summary>
        internal byte[] Bytes => Has("base64") ? Convert.FromBase64String(Text("base64")) : null;

        /// <summary>A text as a string of .NET, whose units need not pair.</summary>
        internal string String => Has("text") ? Text("text") : new string(List("utf16").Select(unit => (char)(long)unit).ToArray());

        internal bool Has(string name)
        {
            return members.Has(name);
        }

        internal object Value(string name)
        {
            if (!members.Has(name))
            {
                throw new ArgumentException("`" + name + "` must be there");
            }
            return members[name];
        }

        internal string Text(string name)
        {
            return (string)Value(name);
        }

        internal long Integer(string name)
        {
            return (long)Value(name);
        }

        internal long Integer(string name, long otherwise)
        {
            return Has(name) ? Integer(name) : otherwise;
        }

        internal List<object> List(string name)
        {
            return (List<object>)Value(name);
        }

        internal uint[] Ids(string name)
        {
            return Json.Ids(Value(name));
        }

        internal Params Inner(string name)
        {
            return new Params((Json.Members)Value(name));
        }

        internal ulong Unsigned(string name)
        {
            return Convert.ToUInt64(Value(name), CultureInfo.InvariantCulture);
        }

        internal double Number(string name)
        {
            return Convert.ToDouble(Value(name), CultureInfo.InvariantCulture);
        }

        internal static byte[] Hex(string digits)
        {
            byte[] bytes = new byte[digits.Length / 2];
            for (int i = 0; i < bytes.Length; i++)
            {
                bytes[i] = byte.Parse(digits.Substring(2 * i, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            }
            return bytes;
        }

        private Profile Known(string name, string word, Profile profile)
        {
            if (Text(name) != word)
            {
                throw new ArgumentException("`" + name + "` is none");
            }
            return profile;
        }
    }
}
