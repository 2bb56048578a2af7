// Written by megtrim. A feature module of your app with the deferred functions of @LIBRARY@.
// Your app lists it: android { dynamicFeatures += ":@MODULE@" }, and has in its dependencies:
// implementation("com.google.android.play:feature-delivery:2.1.0")
plugins {
    id("com.android.dynamic-feature")
}

// The name of your app's module, and the SDK that it is compiled with.
val app = project(providers.gradleProperty("megtrim.app").getOrElse(":app"))

android {
    namespace = "megtrim.trimmed.deferred"
    compileSdk = providers.gradleProperty("megtrim.compileSdk").get().toInt()
    defaultConfig {
        minSdk = @API@
    }
    // The library stays as it was written: its functions are checked against the trimmed library.
    packaging {
        jniLibs.keepDebugSymbols += "**/@FILE@"
    }
}

dependencies {
    implementation(app)
}
