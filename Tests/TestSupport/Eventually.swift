import Foundation

/// Waits until something is so; false if it is not so after ten seconds.
package func eventually(_ isSo: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<1000 {
        if try isSo() { return true }
        usleep(10_000)
    }
    return false
}
