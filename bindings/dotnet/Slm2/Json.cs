using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Slm2
{
    /// <summary>JSON of the library's results and for its requests; what callers wrote themselves is handed on unread.</summary>
    /// <remarks>
    /// Values are null, bool, long (above its range ulong), double, string, <see cref="List{T}"/> of object and <see cref="Members"/>. It reads what the library
    /// wrote, and is no judge of JSON: that is the library's own reader (contract/template.md, M-30 to M-38).
    /// </remarks>
    internal static class Json
    {
        /// <summary>An object, its members in their order.</summary>
        internal sealed class Members : List<KeyValuePair<string, object>>
        {
            internal void Add(string name, object value)
            {
                Add(new KeyValuePair<string, object>(name, value));
            }

            internal bool Has(string name)
            {
                return FindIndex(member => member.Key == name) >= 0;
            }

            internal object this[string name]
            {
                get
                {
                    int at = FindIndex(member => member.Key == name);
                    return at < 0 ? null : this[at].Value;
                }
            }
        }

        internal static object Read(string text)
        {
            Reader reader = new Reader(text);
            object value = reader.Value();
            reader.End();
            return value;
        }

        internal static string Write(object value)
        {
            StringBuilder text = new StringBuilder();
            Append(text, value);
            return text.ToString();
        }

        internal static uint[] Ids(object value)
        {
            List<object> elements = (List<object>)value;
            uint[] ids = new uint[elements.Count];
            for (int i = 0; i < ids.Length; i++)
            {
                ids[i] = checked((uint)(long)elements[i]);
            }
            return ids;
        }

        private static void Append(StringBuilder text, object value)
        {
            if (value == null)
            {
                text.Append("null");
            }
            else if (value is bool)
            {
                text.Append((bool)value ? "true" : "false");
            }
            else if (value is string)
            {
                Quote(text, (string)value);
            }
            else if (value is RawJson)
            {
                text.Append(((RawJson)value).Text);
            }
            else if (value is double)
            {
                Number(text, (double)value);
            }
            else if (value is IFormattable)
            {
                text.Append(((IFormattable)value).ToString(null, CultureInfo.InvariantCulture));
            }
            else if (value is Members)
            {
                Object(text, (Members)value);
            }
            else
            {
                Array(text, (IEnumerable)value);
            }
        }

        private static void Object(StringBuilder text, Members members)
        {
            text.Append('{');
            for (int i = 0; i < members.Count; i++)
            {
                text.Append(i > 0 ? ", " : "");
                Quote(text, members[i].Key);
                text.Append(": ");
                Append(text, members[i].Value);
            }
            text.Append('}');
        }

        private static void Array(StringBuilder text, IEnumerable elements)
        {
            text.Append('[');
            bool first = true;
            foreach (object element in elements)
            {
                text.Append(first ? "" : ", ");
                first = false;
                Append(text, element);
            }
            text.Append(']');
        }

        private static void Number(StringBuilder text, double value)
        {
            if (double.IsNaN(value) || double.IsInfinity(value))
            {
                throw new Slm2Exception(
                    ErrorCodes.JsonNumber,
                    "JSON has no number " + value.ToString(CultureInfo.InvariantCulture),
                    new Dictionary<string, object> { { "found", value.ToString(CultureInfo.InvariantCulture) } });
            }
            string digits = value.ToString("R", CultureInfo.InvariantCulture);
            bool integer = digits.IndexOfAny(new[] { '.', 'E', 'e' }) < 0;
            text.Append(digits).Append(integer ? ".0" : "");
        }

        private static void Quote(StringBuilder text, string value)
        {
            text.Append('"');
            foreach (char unit in value)
            {
                if (unit == '"' || unit == '\\')
                {
                    text.Append('\\').Append(unit);
                }
                else if (unit < ' ')
                {
                    text.Append("\\u").Append(((int)unit).ToString("x4", CultureInfo.InvariantCulture));
                }
                else
                {
                    text.Append(unit);
                }
            }
            text.Append('"');
        }

        /// <summary>JSON text that goes into other JSON as it is.</summary>
        internal sealed class RawJson
        {
            internal readonly string Text;

            internal RawJson(string text)
            {
                Text = text;
            }
        }

        private sealed class Reader
        {
            private readonly string text;
            private int at;

            internal Reader(string text)
            {
                this.text = text;
            }

            internal object Value()
            {
                char mark = Skip();
                switch (mark)
                {
                    case '{':
                        return Object();
                    case '[':
                        return Array();
                    case '"':
                        return String();
                    case 't':
                        return Word("true", true);
                    case 'f':
                        return Word("false", false);
                    case 'n':
                        return Word("null", null);
                    default:
                        return Number();
                }
            }

            internal void End()
            {
                if (Skip() != '\0')
                {
                    throw Wrong();
                }
            }

            private char Skip()
            {
                while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0)
                {
                    at++;
                }
                return at < text.Length ? text[at] : '\0';
            }

            private bool Take(char mark)
            {
                bool found = Skip() == mark;
                at += found ? 1 : 0;
                return found;
            }

            private void Expect(char mark)
            {
                if (!Take(mark))
                {
                    throw Wrong();
                }
            }

            private FormatException Wrong()
            {
                return new FormatException("not JSON at character " + at.ToString(CultureInfo.InvariantCulture));
            }

            private object Word(string word, object value)
            {
                if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0)
                {
                    throw Wrong();
                }
                at += word.Length;
                return value;
            }

            private Members Object()
            {
                Members members = new Members();
                Expect('{');
                if (Take('}'))
                {
                    return members;
                }
                do
                {
                    if (Skip() != '"')
                    {
                        throw Wrong();
                    }
                    string name = String();
                    Expect(':');
                    members.Add(name, Value());
                }
                while (Take(','));
                Expect('}');
                return members;
            }

            private List<object> Array()
            {
                List<object> elements = new List<object>();
                Expect('[');
                if (Take(']'))
                {
                    return elements;
                }
                do
                {
                    elements.Add(Value());
                }
                while (Take(','));
                Expect(']');
                return elements;
            }

            private string String()
            {
                StringBuilder value = new StringBuilder();
                at++;
                while (true)
                {
                    int end = text.IndexOfAny(new[] { '"', '\\' }, at);
                    if (end < 0)
                    {
                        throw Wrong();
                    }
                    value.Append(text, at, end - at);
                    at = end + 1;
                    if (text[end] == '"')
                    {
                        return value.ToString();
                    }
                    value.Append(Escaped());
                }
            }

            private char Escaped()
            {
                const string Marks = "\"\\/bfnrt";
                const string Units = "\"\\/\b\f\n\r\t";
                char mark = at < text.Length ? text[at++] : '\0';
                if (mark == 'u' && at + 4 <= text.Length)
                {
                    at += 4;
                    return (char)ushort.Parse(text.Substring(at - 4, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
                }
                int place = Marks.IndexOf(mark);
                if (place < 0)
                {
                    throw Wrong();
                }
                return Units[place];
            }

            private object Number()
            {
                int start = at;
                while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0)
                {
                    at++;
                }
                string digits = text.Substring(start, at - start);
                long integer;
                if (long.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out integer))
                {
                    return integer;
                }
                ulong large;
                if (ulong.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out large))
                {
                    return large;
                }
                double number;
                if (!double.TryParse(digits, NumberStyles.Float, CultureInfo.InvariantCulture, out number))
                {
                    throw Wrong();
                }
                return number;
            }
        }
    }
}
