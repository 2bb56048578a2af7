// Written by megtrim. Fetches the deferred functions of @LIBRARY@ from the feature module
// @MODULE@ and hands them to the library. Copy this file into your base module, next to
// deferred_code.c, which belongs to the native library of your app.
package megtrim.trimmed

import android.content.Context
import android.os.Build
import android.os.ParcelFileDescriptor
import com.google.android.play.core.splitinstall.SplitInstallManagerFactory
import com.google.android.play.core.splitinstall.SplitInstallRequest
import com.google.android.play.core.splitinstall.SplitInstallStateUpdatedListener
import com.google.android.play.core.splitinstall.model.SplitInstallSessionStatus
import java.io.File
import java.io.IOException
import java.io.RandomAccessFile
import java.nio.ByteBuffer
import java.nio.ByteOrder

object DeferredCode {
    const val MODULE = "@MODULE@"
    private const val FILE = "@FILE@"

    /** The deferred functions begin here in the module's library. */
    private const val CODE_OFFSET = @OFFSET@L

    private const val END_BYTES = 22
    private const val ENTRY_BYTES = 46
    private const val HEADER_BYTES = 30
    private const val LONGEST_COMMENT_BYTES = 65_535
    private const val END_MAGIC = 0x06054b50
    private const val ENTRY_MAGIC = 0x02014b50

    /**
     * Asks Google Play for the module, and calls [onEnd] once: with true if all functions can be
     * called, with false if they cannot, for example without a network. Scenarios need none of them.
     */
    fun request(context: Context, onEnd: (Boolean) -> Unit) {
        if (load(context)) {
            onEnd(true)
            return
        }
        val manager = SplitInstallManagerFactory.create(context)
        var session = 0
        lateinit var listener: SplitInstallStateUpdatedListener
        fun end(installed: Boolean) {
            manager.unregisterListener(listener)
            onEnd(installed && load(context))
        }
        listener = SplitInstallStateUpdatedListener { state ->
            if (state.sessionId() == session) {
                when (state.status()) {
                    SplitInstallSessionStatus.INSTALLED -> end(true)
                    // Only an activity can ask the user. Without it, this is as without a network.
                    SplitInstallSessionStatus.REQUIRES_USER_CONFIRMATION -> {
                        manager.cancelInstall(session)
                        end(false)
                    }
                    SplitInstallSessionStatus.FAILED, SplitInstallSessionStatus.CANCELED -> end(false)
                    else -> Unit
                }
            }
        }
        manager.registerListener(listener)
        manager.startInstall(SplitInstallRequest.newBuilder().addModule(MODULE).build())
            .addOnSuccessListener { id ->
                session = id
                // A module that is there already has no session, and no listener hears of it.
                if (id == 0) end(true)
            }
            .addOnFailureListener { end(false) }
    }

    /** Loads the deferred functions if the module is on the phone, and tells whether it is. */
    fun load(context: Context): Boolean =
        try {
            // Only a new context knows of modules that came after the app's start.
            val app = context.createPackageContext(context.packageName, 0).applicationInfo
            val unpacked = File(app.nativeLibraryDir, FILE)
            if (unpacked.isFile) {
                take(unpacked, 0)
            } else {
                (app.splitSourceDirs.orEmpty().toList() + app.sourceDir).any { takeFromApk(File(it)) }
            }
        } catch (error: IOException) {
            false
        }

    private fun takeFromApk(apk: File): Boolean {
        val start = RandomAccessFile(apk, "r").use { file ->
            Build.SUPPORTED_ABIS.firstNotNullOfOrNull { abi -> findStored(file, "lib/$abi/$FILE") }
        }
        return start != null && take(apk, start)
    }

    private fun take(file: File, start: Long): Boolean =
        ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY).use {
            take(it.fd, start + CODE_OFFSET)
        }

    /** Returns where the content of an entry begins that is not compressed; null: there is none. */
    private fun findStored(file: RandomAccessFile, name: String): Long? {
        val tail = read(file, maxOf(0, file.length() - END_BYTES - LONGEST_COMMENT_BYTES), file.length())
        val end = (tail.limit() - END_BYTES downTo 0).firstOrNull { tail.getInt(it) == END_MAGIC } ?: return null
        val first = tail.getInt(end + 16).toUInt().toLong()
        val entries = read(file, first, first + tail.getInt(end + 12).toUInt().toLong())
        var at = 0
        while (at + ENTRY_BYTES <= entries.limit() && entries.getInt(at) == ENTRY_MAGIC) {
            val nameBytes = entries.getShort(at + 28).toUShort().toInt()
            val more = entries.getShort(at + 30).toUShort().toInt() + entries.getShort(at + 32).toUShort().toInt()
            val found = String(entries.array(), at + ENTRY_BYTES, nameBytes, Charsets.UTF_8)
            if (found == name) {
                val isStored = entries.getShort(at + 10).toInt() == 0
                return if (isStored) startOf(file, entries.getInt(at + 42).toUInt().toLong()) else null
            }
            at += ENTRY_BYTES + nameBytes + more
        }
        return null
    }

    private fun startOf(file: RandomAccessFile, header: Long): Long {
        val names = read(file, header + 26, header + HEADER_BYTES)
        return header + HEADER_BYTES + names.getShort(0).toUShort().toLong() + names.getShort(2).toUShort().toLong()
    }

    private fun read(file: RandomAccessFile, start: Long, end: Long): ByteBuffer {
        val bytes = ByteArray(Math.toIntExact(end - start))
        file.seek(start)
        file.readFully(bytes)
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    }

    private external fun take(descriptor: Int, offset: Long): Boolean
}
