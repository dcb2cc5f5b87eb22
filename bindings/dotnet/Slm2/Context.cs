using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Slm2
{
    /// <summary>What a call works in. A thread takes one from its contract and gives it back.</summary>
    internal sealed unsafe class Context : IDisposable
    {
        /// <summary>Unpaired surrogates become U+FFFD, one for each; no mark of byte order is written or left out.</summary>
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, false);
        private static readonly byte[] Nothing = new byte[1];
        private readonly ContractState contract;

        internal Context(ContractState contract)
        {
            this.contract = contract;
            Handle = Native.slm2_context_new();
            if (Handle.IsInvalid)
            {
                throw new OutOfMemoryException();
            }
        }

        internal ContextHandle Handle { get; }

        /// <summary>Give it back for another call.</summary>
        public void Dispose()
        {
            contract.Return(this);
        }

        internal static byte[] Bytes(string text)
        {
            if (text == null)
            {
                throw new ArgumentNullException(nameof(text));
            }
            return Utf8.GetBytes(text);
        }

        internal static string String(byte[] bytes)
        {
            return Utf8.GetString(bytes);
        }

        /// <summary>An address for <c>fixed</c> also where there is no element.</summary>
        internal static byte[] Pinned(byte[] bytes)
        {
            return bytes.Length == 0 ? Nothing : bytes;
        }

        /// <summary>Throw what the last call was refused for.</summary>
        internal void Check(uint status)
        {
            if (status == Native.Ok || status == Native.TooSmall)
            {
                return;
            }
            if (status == Native.NoContext)
            {
                throw new InvalidOperationException("no context");
            }
            UIntPtr length;
            Native.slm2_error(Handle, null, UIntPtr.Zero, out length);
            byte[] json = new byte[(int)length];
            fixed (byte* address = Pinned(json))
            {
                Native.slm2_error(Handle, address, length, out length);
            }
            throw Slm2Exception.Read(String(json));
        }

        /// <summary>The result of the last call, which found no room.</summary>
        internal byte[] Result(uint status)
        {
            IntPtr address;
            int length = View(status, out address);
            byte[] bytes = new byte[length];
            Copy(address, bytes, length);
            return bytes;
        }

        internal string Text(uint status)
        {
            IntPtr address;
            int length = View(status, out address);
            return length == 0 ? "" : Utf8.GetString((byte*)address, length);
        }

        internal uint[] Ids(uint status)
        {
            IntPtr address;
            int length = View(status, out address);
            uint[] ids = new uint[length / sizeof(uint)];
            fixed (uint* to = ids)
            {
                Buffer.MemoryCopy((void*)address, to, length, length);
            }
            return ids;
        }

        /// <summary>Where the result is, and how many bytes it has.</summary>
        internal int View(uint status, out IntPtr address)
        {
            Check(status);
            if (status == Native.Ok)
            {
                address = IntPtr.Zero;
                return 0;
            }
            UIntPtr length;
            Native.slm2_result_view(Handle, out address, out length);
            return checked((int)length);
        }

        private static void Copy(IntPtr address, byte[] bytes, int length)
        {
            if (length > 0)
            {
                Marshal.Copy(address, bytes, 0, length);
            }
        }
    }
}
